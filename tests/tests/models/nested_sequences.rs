//! Sequences of sequences: texts of sentences of words.

use paddle::attribute::network;

#[network]
pub mod documents {
    const WORDS: usize = 12;

    /// A state for each sentence, and one for the text over these.
    pub fn cost(text: Seq<Seq<i64>>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        let words = embedding(text, [WORDS, 3]);
        let mut h = zeros(4);
        for sentence in words {
            let mut s = zeros(3);
            for word in sentence {
                let next = fc([word, s], 3);
                s = tanh(next);
            }
            let whole = fc([s, h], 4);
            h = tanh(whole);
        }
        let read = fc(h, 2);
        mean(square(read - y))
    }

    /// What each sentence is like, by its words; and how much the text is about each.
    pub fn pooled(text: Seq<Seq<Tensor<f32, 3>>>, query: Tensor<f32, _, 3>) -> Tensor<f32> {
        let sentence = sequence_pool(fc(text, 3, act = tanh), average);
        let fit = sequence_softmax(sum(sequence_expand(query, sentence) * sentence, axis = 1, keep_dim = true));
        let states = for (s, f) in (sentence, fit) {
            s * f
        };
        mean(square(sequence_pool(states, sum)))
    }

    /// Words that look back at the sentences before theirs.
    pub fn memory(text: Seq<Seq<Tensor<f32, 2>>>) -> Tensor<f32> {
        let mut seen = zeros(2);
        let marked = for sentence in text {
            let read = for word in sentence {
                word * sigmoid(seen)
            };
            let longest = sequence_pool(read, max);
            seen = if sum(longest, axis = 1) > 0.0 { tanh(seen + longest) } else { 0.5 * seen };
            fc(seen, 2)
        };
        mean(seen) + mean(square(sequence_pool(marked, sum)))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![
        crate::model(documents::cost()),
        crate::model(documents::pooled()),
        crate::model(documents::memory()),
    ]
}
