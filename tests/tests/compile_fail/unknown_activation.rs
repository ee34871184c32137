//! An activation that does not exist.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1, act = rleu);
        //~                        ^^^^ unknown-activation
        mean(square(price - y))
    });
}
