//! Shapes that could hold for some sizes only.

use paddle::attribute::network;

#[network]
pub mod attention {
    const HEADS: usize = 6;

    fn heads(x: Tensor<f32, _, T, D>) -> _ {
        reshape(x, [-1, HEADS, D / HEADS])
        //~        ^^^^^^^^^^^^^^^^^^^^^^ constant
    }

    pub fn scores(x: Tensor<f32, _, T, 64>) -> _ {
        let split = heads(x);
        let nine = reshape(x, [T, 7, 9]);
        //~                ^ shape
        let mixed = reshape(x, [4, T, 16]);
        //~                 ^ shape
        let pairs = reshape(x, [-1, 2, 64]);
        let quarters = reshape(x, [T, 4, 16]);
        let flat = reshape(x, [-1]);
        let turned = transpose(quarters, [0, 2, 1, 3]);
        mean(split) + mean(nine) + mean(mixed) + mean(pairs) + mean(flat) + mean(turned)
    }
}

fn main() {}
