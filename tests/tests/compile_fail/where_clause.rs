//! A `where` clause, and a type that is no path.

use paddle::attribute::network;

#[network]
pub mod line {
    pub fn price(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 1> where f32: Copy {
        //~                                                  ^^^^^^^^^^^^^^^ not-of-the-language
        fc(x, 1)
    }

    pub fn cost(x: &Tensor<f32, _, 13>) -> Tensor<f32> {
        //~        ^^^^^^^^^^^^^^^^^^^ type-syntax
        mean(x)
    }
}

fn main() {}
