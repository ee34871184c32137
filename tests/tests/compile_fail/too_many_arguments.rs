//! A layer with too many arguments.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1);
        mean(square(price - y), 1)
        //~                     ^ argument-count
    });
}
