//! Two `fn`s that call each other.

use paddle::attribute::network;

#[network]
pub mod line {
    fn even(x: _) -> _ {
        odd(fc(x, 1))
    }

    fn odd(x: _) -> _ {
        even(x)
     //~^^^^^^^ recursion
    }

    pub fn cost(x: Tensor<f32, _, 13>) -> Tensor<f32> {
        mean(even(x))
    }
}

fn main() {}
