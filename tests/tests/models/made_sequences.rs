//! Sequences that are made of others: parts of them, and rows of places, at any place of a network.

use paddle::attribute::network;

#[network]
pub mod excerpts {
    const WORDS: usize = 20;

    /// The first words of a text, the informative ones, and both one behind the other.
    pub fn cost(text: Seq<i64>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        let word = embedding(text, [WORDS, 4], param = "words");
        let first = sequence_slice(word, 0, minimum(sequence_length(word), 3));
        let told = sequence_filter(word, sum(word, axis = 1) > 0.0);
        let mut h = zeros(4);
        for x in sequence_concat([told, first]) {
            let state = fc([x, h], 4);
            h = tanh(state);
        }
        let pairs = sequence_reshape(sequence_concat([word, word]), 8);
        let answer = fc([h, sequence_pool(pairs, sqrt)], 2);
        mean(square(answer - y))
    }

    /// A reader that looks at two words at a time, for as long as it likes.
    pub fn in_steps(text: Seq<i64>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        let word = embedding(text, [WORDS, 4], param = "words");
        let length = sequence_length(word);
        let mut at = 0;
        let mut h = zeros(4);
        let mut sure = 0.0;
        let mut answer = zeros(4);
        while at < length && sure < 0.95 {
            let seen = sequence_slice(word, at, minimum(length - at, 2));
            let fit = sequence_softmax(sum(sequence_expand(h, seen) * seen, axis = 1, keep_dim = true));
            let next = fc([h, sequence_pool(fit * seen, sum)], 4);
            h = tanh(next);
            let more = fc(h, 1);
            let gain = 0.2 + 0.3 * sigmoid(sum(more, axis = 1));
            answer += h * unsqueeze(gain, 1);
            sure += gain;
            at += 2;
        }
        let read = fc(answer, 2);
        mean(square(read - y))
    }

    /// Places as tokens, and tokens in places.
    pub fn places(x: Tensor<f32, _, 5, 3>, marks: Seq<f32>) -> Tensor<f32> {
        let mut total = zeros(3);
        for row in sequence(x) {
            total = tanh(total + fc(row, 3));
        }
        let marked = sequence_pad(sequence_slice(marks, 0, minimum(sequence_length(marks), 4)), 4);
        let again = sequence_unpad(unsqueeze(marked, 2) * 2.0, minimum(sequence_length(marks), 2));
        mean(total) + mean(square(sequence_pool(again, sum))) + mean(cast(sequence_positions(marks), f32) * marks)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![
        crate::model(excerpts::cost()),
        crate::model(excerpts::in_steps()),
        crate::model(excerpts::places()),
    ]
}
