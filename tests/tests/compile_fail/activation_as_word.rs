//! An activation where a word is wanted.

use paddle::attribute::network;

#[network]
pub mod models {
    fn part(x: _, kind: Activation) -> _ {
        pool2d(x, 2, kind = kind)
        //~                 ^^^^ argument-kind
    }

    pub fn whole(x: Tensor<f32, _, 1, 4, 4>) -> _ {
        mean(part(x, relu))
    }
}

fn main() {}
