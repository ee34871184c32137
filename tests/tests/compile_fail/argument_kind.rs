//! A value where a size is wanted.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, y);
        //~               ^ argument-kind
        mean(square(price - y))
    });
}
