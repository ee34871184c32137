//! Dimensions that are no sizes.

use paddle::attribute::network;

#[network]
pub mod line {
    const HALF: f32 = 0.5;
    const LESS: usize = 1 - 2;
    //~                 ^^^^^ constant

    pub fn price(x: Tensor<f32, _, 0>) -> _ {
        //~                        ^ constant
        x
    }

    pub fn half(x: Tensor<f32, _, HALF>) -> _ {
        //~                       ^^^^ constant
        x
    }
}

fn main() {}
