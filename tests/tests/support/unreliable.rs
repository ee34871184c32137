//! What processes train that die or are cut off meanwhile: a table, products, draws, and batches of any size.

use paddle::Network;
use paddle::attribute::network;

#[network]
pub mod networks {
    pub fn cost(words: Seq<i64>, x: Tensor<f32, _, 16>) -> Tensor<f32> {
        let word = sequence_pool(embedding(words, [500, 40], param = "embedding"), average);
        let h = dropout(fc(concat([word, fc(x, 300, act = tanh)], axis = 1), 64, act = tanh), 0.2);
        mean(square(fc(h, 1)))
    }
}

pub(crate) use networks::cost;

/// A number that is a function of `i`.
pub(crate) fn number(i: u64) -> u64 {
    let mixed = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33
}

/// The rows of a step.
pub(crate) fn batch(net: &Network<cost::Spec>, step: u64) -> Vec<cost::Row> {
    let row = |k: u64| {
        let of = step * 1000 + k * 40;
        let words: Vec<i64> = (0..number(of) % 9).map(|j| (number(of + j) % 500) as i64).collect();
        net.row(words, std::array::from_fn(|j| number(of + 20 + j as u64) as f32 / (1u64 << 30) as f32 - 1.0))
    };
    (0..13 + number(step) % 7).map(row).collect()
}
