//! A layer with too few arguments.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x);
        //~           ^^^ argument-count
        mean(square(price - y))
    });
}
