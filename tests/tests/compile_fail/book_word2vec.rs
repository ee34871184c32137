//! A word has one row, the words of its gloss have many.

use paddle::attribute::network;

// ANCHOR: mistake
#[network]
mod glosses {
    fn vector(word: _) -> _ {
        embedding(word, [13_000, 200], param = "words")
    }

    pub fn fits(word: Tensor<i64, _>, gloss: Seq<i64>) -> _ {
        sequence_pool(sigmoid(vector(gloss) * vector(word)), average)
        //~                                   ^^^^^^^^^^^^ row-spaces
    }
}
// ANCHOR_END: mistake

fn main() {}
