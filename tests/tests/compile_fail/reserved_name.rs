//! A network in the way of the names of the parameters.

use paddle::attribute::network;

#[network]
pub mod line {
    pub fn params(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 1> {
        //~^^^^^^ reserved-name
        fc(x, 1)
    }
}

fn main() {}
