//! Values that are shaped by sizes from outside: of instances, of constants of Rust, of the caller, of the batch.

use paddle::attribute::network;

const HEADS: usize = 2;

#[network]
pub mod shaped {
    const WORDS: usize;

    /// As many columns as there are places, whatever that is.
    pub fn grid<const N: usize, const M: usize>(x: Tensor<f32, _, { N * M }>, y: Tensor<f32, _, N, M>) -> Tensor<f32> {
        let both = reshape(x, [N, M]) + y;
        mean(square(fc(both, N)))
    }

    pub fn heads(x: Tensor<f32, _, { super::HEADS * 3 }>) -> Tensor<f32, _, 3, super::HEADS> {
        let split = reshape(x, [super::HEADS, -1]);
        transpose(split, [0, 2, 1])
    }

    pub fn table(word: Tensor<i64, _, 1>) -> Tensor<f32, _, WORDS> {
        let vector = embedding(word, [WORDS, WORDS]);
        reshape(vector, [WORDS])
    }

    pub fn pairs(x: Tensor<f32, _, T, 2>) -> Tensor<f32, _, { 2 * T }> {
        reshape(x, [2 * T])
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![
        crate::model(shaped::grid::<3, 4>()),
        crate::model(shaped::heads()),
        crate::model(shaped::table::with(shaped::table::Sizes { WORDS: 5 }).unwrap()),
        crate::model(shaped::pairs()),
    ]
}
