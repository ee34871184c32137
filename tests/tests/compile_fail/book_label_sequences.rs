//! The table of neighbours has as many labels where it is trained as where it is used.

use paddle::attribute::network;

// ANCHOR: mistake
#[network]
mod stress {
    fn scores(word: _, labels: usize) -> _ {
        let heard = bidirectional_lstm(embedding(word, [39, 48]), 48);
        fc(heard, labels, axis = -1)
     //~^^^^^^^^^^^^^^^^^^^^^^^^^^^^ parameter-conflict
    }

    pub fn field(word: Seq<i64>, labels: Seq<Tensor<i64, 1>>) -> Tensor<f32> {
        mean(linear_chain_crf(scores(word, 7), labels, param = "neighbours"))
    }

    pub fn field_labels(word: Seq<i64>) -> _ {
        crf_decoding(scores(word, 6), param = "neighbours")
     //~^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ parameter-conflict
    }
}
// ANCHOR_END: mistake

fn main() {}
