//! An unused input of each of two networks.

use paddle::attribute::network;

#[network]
pub mod models {
    pub fn first(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 3>) -> _ {
    //~                                ^ unused-input
        x + 1.0
    }

    pub fn second(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 3>) -> _ {
    //~           ^ unused-input
        y + 1.0
    }
}

fn main() {}
