//! An array of another length than it says.

use paddle::attribute::network;

#[network]
pub mod line {
    const SIZES: [usize; 3] = [13, 1];
    //~                       ^^^^^^^ constant

    pub fn price(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 1> {
        fc(x, SIZES[1])
    }
}

fn main() {}
