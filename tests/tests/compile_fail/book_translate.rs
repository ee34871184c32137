//! A search starts with a symbol for each row, not with a word.

use paddle::attribute::network;

// ANCHOR: mistake
#[network]
mod translate {
    fn next(symbol: Tensor<i64, _>, mind: Tensor<f32, _, 8>) -> _ {
        gru_unit(embedding(symbol, [66, 8]), mind, 8)
    }

    pub fn first(word: Seq<i64>) -> _ {
        let read = gru(embedding(word, [66, 8]), 8);
        next(word, sequence_pool(read, last))
        //~  ^^^^ declared-type
    }
}
// ANCHOR_END: mistake

fn main() {}
