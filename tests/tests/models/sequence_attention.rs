//! Attention over the tokens of a sequence, in operators of sequences; two inputs whose tokens belong together.

use paddle::attribute::network;

#[network]
pub mod attention {
    const WORDS: usize = 40;

    /// What a row asks for among its tokens: an average of them, by how well each one fits.
    fn attend(query: Tensor<f32, _, D>, keys: Seq<Tensor<f32, D>>) -> Tensor<f32, _, D> {
        let fits = sum(sequence_expand(query, keys) * keys, axis = 1, keep_dim = true);
        sequence_pool(keys * sequence_softmax(fits), sum)
    }

    pub fn cost(query: Tensor<f32, _, 6>, words: Seq<i64>, marks: Seq<Tensor<f32, 1>>) -> Tensor<f32> {
        let word = embedding(words, [WORDS, 6]) + sequence_align(marks, words);
        let length = cast(sequence_length(words), f32);
        let found = attend(fc(query, 6), sequence_reverse(word));
        // Of the first two places, those that there are.
        let filled = sequence_mask(sequence_length(words), 2, to = f32);
        mean(square(fc([found, filled], 1)) + log(1.0 + reshape(length, [1])))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(attention::cost())]
}
