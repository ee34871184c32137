//! Two networks of one name, and two `const`s: rustc does not report them again.

use paddle::attribute::network;

#[network]
pub mod line {
    const SIZE: usize = 1;
    const SIZE: usize = 2;
    //~   ^^^^ duplicate

    pub fn price(x: Tensor<f32, _, 13>) -> Tensor<f32, _, SIZE> {
        fc(x, SIZE)
    }

    pub fn price(x: Tensor<f32, _, 14>) -> Tensor<f32, _, SIZE> {
    //~    ^^^^^ duplicate
        fc(x, SIZE)
    }
}

fn main() {}
