//! A `const` of a type that the language does not have.

use paddle::attribute::network;

#[network]
pub mod line {
    const SIZE: u8 = 3;
    //~         ^^ not-of-the-language

    pub fn price(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 3> {
        fc(x, SIZE)
    }
}

fn main() {}
