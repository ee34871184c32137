//! Words are judged where their text was meant.

use paddle::attribute::network;

// ANCHOR: mistake
#[network]
mod sentiment {
    pub fn cost(text: Seq<i64>, class: Tensor<i64, _, 1>) -> Tensor<f32> {
        let words = embedding(text, [20_000, 128]);
        let read = bidirectional_lstm(words, 64);
        let logits = fc(read, 44);
        mean(softmax_with_cross_entropy(logits, class))
        //~                                     ^^^^^ row-spaces
    }
}
// ANCHOR_END: mistake

fn main() {}
