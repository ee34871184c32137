//! A `const` that is not a number of its type.

use paddle::attribute::network;

#[network]
pub mod line {
    const SIZE: usize = 1.5;
    //~                 ^^^ constant

    pub fn price(x: Tensor<f32, _, 13>) -> Tensor<f32, _, SIZE> {
        fc(x, SIZE)
    }
}

fn main() {}
