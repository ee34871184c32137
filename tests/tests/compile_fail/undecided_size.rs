//! A size from outside where its value has to be known.

use paddle::attribute::network;

pub const LAYERS: usize = 3;

#[network]
pub mod models {
    pub fn repeated(x: Tensor<f32, _, 4>) -> _ {
        let mut h = x;
        for _ in 0..crate::LAYERS {
            //~     ^^^^^^^^^^^^^ undecided-size
            h = relu(h);
        }
        h
    }

    pub fn chosen<const DEEP: usize>(x: Tensor<f32, _, 4>) -> _ {
        if DEEP > 1 { relu(x) } else { x }
        //~^^^^^^^^ undecided-size
    }

    pub fn factor(x: Tensor<f32, _, 4>) -> _ {
        scale(x, super::LAYERS)
        //~      ^^^^^^^^^^^^^ undecided-size
    }
}

fn main() {}
