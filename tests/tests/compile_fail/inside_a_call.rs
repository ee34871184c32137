//! A mistake in a sub-network, blamed there; the message says which call led to it.

use paddle::attribute::network;

#[network]
pub mod line {
    fn error(a: _, b: _) -> _ {
        a - b
        //~ ^ shape
    }

    pub fn cost(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        mean(error(x, y))
    }
}

fn main() {}
