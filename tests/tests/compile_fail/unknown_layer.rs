//! A layer that does not exist, with a near one.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1);
        mean(squre(price - y))
        //~  ^^^^^ unknown-layer
    });
}
