//! A mistake in a sub-network, with the call that led to it.

use paddle::attribute::network;

#[network]
pub mod line {
    fn error(a: _, b: _) -> _ {
        a - b
        //~ ^ note
    }

    pub fn cost(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        mean(error(x, y))
        //~  ^^^^^^^^^^^ shape
    }
}

fn main() {}
