//! A result that is not of the declared type.

use paddle::attribute::network;

#[network]
pub mod line {
    pub fn price(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 2> {
        fc(x, 1)
     //~^^^^^^^^ declared-type
    }
}

fn main() {}
