//! A path to a `const` whose value does not fit.

use paddle::attribute::network;

pub const WIDTH: usize = 30;

#[network]
pub mod models {
    pub fn sum(x: Tensor<f32, _, super::WIDTH>, y: Tensor<f32, _, 32>) -> _ {
        relu(x + y)
        //~  ^^^^^ shape
    }
}

fn main() {}
