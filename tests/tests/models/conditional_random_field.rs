//! A tagger whose tags depend on each other: the cost of the right ones, and the most probable ones, of one field.

use paddle::attribute::network;

#[network]
pub mod tagger {
    const WORDS: usize = 40;
    const TAGS: usize = 2;

    /// What each tag counts for each word.
    fn emissions(words: Seq<i64>) -> Seq<Tensor<f32, TAGS>> {
        let around = sequence_conv(embedding(words, [WORDS, 6]), 8, 3, act = tanh);
        fc(around, TAGS)
    }

    pub fn cost(words: Seq<i64>, marks: Seq<i64>) -> Tensor<f32> {
        mean(linear_chain_crf(emissions(words), marks, param = "tags"))
    }

    /// The tags, and which of them are right.
    pub fn tags(words: Seq<i64>, marks: Seq<i64>) -> _ {
        let tags = crf_decoding(emissions(words), param = "tags");
        (tags, tags == sequence_align(marks, words))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(tagger::cost()), crate::model(tagger::tags())]
}
