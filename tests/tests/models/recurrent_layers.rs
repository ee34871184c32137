//! The recurrent layers of the library: along sequences, both ways, in layers, and step by step.

use paddle::attribute::network;

#[network]
pub mod translation {
    const WORDS: usize = 30;
    const HIDDEN: usize = 5;
    const END: usize = 0;

    /// The next word, by what was read, what was said, and the word before.
    fn step(word: _, h: _, seen: Seq<Tensor<f32, D>>, #[default = false] beams: bool) -> (_, _) {
        let context = attention(h, seen, 3, beams = beams, param = "context");
        let word = embedding(word, [WORDS, 4], param = "said");
        let state = gru_unit(concat([word, context], axis = -1), h, HIDDEN, param = "state");
        let logits = fc(state, WORDS, axis = -1, param = "logits");
        (state, logits)
    }

    fn read(words: Seq<i64>) -> _ {
        bidirectional_gru(embedding(words, [WORDS, 4]), HIDDEN)
    }

    pub fn cost(source: Seq<i64>, said: Seq<i64>, want: Seq<Tensor<i64, 1>>) -> Tensor<f32> {
        let seen = read(source);
        let mut h = fc(sequence_pool(seen, max), HIDDEN);
        let losses = for (word, next) in (said, want) {
            let (state, logits) = step(word, h, seen);
            h = state;
            softmax_with_cross_entropy(logits, next)
        };
        mean(sequence_pool(losses, sum))
    }

    /// The most probable translations, last word last.
    pub fn beams(source: Seq<i64>) -> (Tensor<i64, _, 3, 4>, Tensor<f32, _, 3>) {
        let seen = read(source);
        let start = fc(sequence_pool(seen, max), HIDDEN);
        let mut h = unsqueeze(start, 1);
        let mut words = unsqueeze(cast(sum(start, axis = 1) * 0.0, i64), 1);
        let mut scores = cast(words, f32);
        let mut text = tile(unsqueeze(words, 2), [1, 4]);
        (h, words, scores, text) = grow(h, words, scores, text, seen);
        let mut length = 1;
        while !all(words == END, axis = 1) && length < 4 {
            (h, words, scores, text) = grow(h, words, scores, text, seen);
            length += 1;
        }
        (text, scores)
    }

    fn grow(h: _, words: _, scores: _, text: _, seen: Seq<Tensor<f32, D>>) -> (_, _, _, _) {
        let (state, logits) = step(words, h, seen, beams = true);
        let (parents, words, scores) = beam_search(words, scores, log_softmax(logits), 3, END);
        let before = slice(gather(text, parents), 2, 1, 4);
        (gather(state, parents), words, scores, concat([before, unsqueeze(words, 2)], axis = 2))
    }
}

#[network]
pub mod memory {
    pub fn cost(xs: Seq<Tensor<f32, 3>>, query: Tensor<f32, _, 4>, y: Tensor<f32, _, 4>) -> Tensor<f32> {
        let seen = lstm(xs, 4, peepholes = true);
        mean(square(dot_product_attention(query, seen) - y))
    }
}

#[network]
pub mod layers {
    pub fn cost(xs: Seq<Tensor<f32, 3>>, y: Tensor<f32, _, 4>) -> Tensor<f32> {
        let there = stacked_lstm(xs, 3, 2);
        let both = stacked_lstm(xs, 2, 2, bidirectional = true, peepholes = true);
        let units = stacked_gru(xs, 4, 2, origin_mode = true);
        let more = stacked_gru(bidirectional_lstm(xs, 2), 2, 1, reset_after = true, bidirectional = true);
        let scale = parameter(4, init = constant(1.0), lr = 0.5);
        let pooled = sequence_pool(concat([there, both, units, more]), average);
        let (h, c) = lstm_unit(y, fc(pooled, 4), y, 4);
        mean(square(h * scale + c - y))
    }
}

#[network]
pub mod places {
    /// Along the places of each row: on the rows of a branch, and again and again on those that are still in a loop.
    pub fn cost(xs: Tensor<f32, _, T, 3>, wanted: Tensor<f32, _>, y: Tensor<f32, _, 4>) -> Tensor<f32> {
        let xs = sequence(xs);
        let mut h = if wanted > 0.0 {
            let seen = gru(xs, 4);
            sequence_pool(seen, last)
        } else {
            fc(dot_product_attention(fc(y, 3), xs), 4)
        };
        let mut read = 0;
        while sum(square(h), axis = 1) > 0.05 && read < 3 {
            let scale = sequence_expand(fc(h, 1), xs);
            let again = lstm(xs * scale, 4);
            h = 0.5 * sequence_pool(again, max);
            read += 1;
        }
        mean(square(h - y))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![
        crate::model(translation::cost()),
        crate::model(translation::beams()),
        crate::model(memory::cost()),
        crate::model(layers::cost()),
        crate::model(places::cost()),
    ]
}
