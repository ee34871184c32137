//! A tagger with labels: a token is a word and its tag, which stay together because they are one sequence.

use paddle::attribute::network;

#[network]
pub mod tags {
    const WORDS: usize = 40;
    const TAGS: usize = 3;

    fn logits(word: _) -> _ {
        let vector = embedding(word, [WORDS, 8]);
        let hidden = fc(vector, 12, act = tanh);
        fc(hidden, TAGS)
    }

    pub fn cost(tokens: Seq<Tensor<i64, 2>>) -> (Tensor<f32>, Tensor<f32>) {
        let (word, tag) = (slice(tokens, [1], [0], [1]), slice(tokens, [1], [1], [2]));
        let logits = logits(word);
        let right = accuracy(logits, tag);
        (mean(softmax_with_cross_entropy(logits, tag)), right)
    }

    /// A probability for each tag of each token.
    pub fn answer(words: Seq<i64>) -> Seq<Tensor<f32, TAGS>> {
        softmax(logits(words))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(tags::cost()), crate::model(tags::answer())]
}
