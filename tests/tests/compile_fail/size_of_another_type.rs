//! A size that is known at run time is a `usize`, and else one mistake.

use paddle::attribute::network;

#[network]
pub mod models {
    const RATE: f32;
    //~         ^^^ not-of-the-language

    pub fn whole(x: Tensor<f32, _, 3>) -> _ {
        x * RATE
    }
}

fn main() {}
