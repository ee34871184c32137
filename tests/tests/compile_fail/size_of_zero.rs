//! A size that is not above 0.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 0);
        //~               ^ argument-kind
        mean(square(price - y))
    });
}
