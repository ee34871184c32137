//! A `fn` that calls itself.

use paddle::attribute::network;

#[network]
pub mod line {
    fn deep(x: _) -> _ {
        deep(fc(x, 1))
     //~^^^^^^^^^^^^^^ recursion
    }

    pub fn cost(x: Tensor<f32, _, 13>) -> Tensor<f32> {
        mean(deep(x))
    }
}

fn main() {}
