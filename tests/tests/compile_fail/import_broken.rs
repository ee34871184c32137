//! A mistake in a module whose sub-network and constant another one imports is one error.

#[paddle::attribute::network]
mod parts {
    pub const FACTOR: f32 = 0.5;

    pub fn half(x: Tensor<f32, _, 4>) -> Tensor<f32, _, 4> {
        x / tow
        //~ ^^^ unknown-variable
    }
}

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 4>| {
        use crate::parts::{FACTOR, half};
        half(x) * FACTOR
    });
}
