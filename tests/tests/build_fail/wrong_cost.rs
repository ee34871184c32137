//! A topology that compares two costs is run, not trained, by steps as little as in the loop of `wrong_training.rs`.

use paddle::attribute::network;
use paddle::{Parameters, Sgd, Trainer};

#[network]
mod ranking {
    fn semantic(words: Seq<i64>) -> Tensor<f32, _, 64> {
        let word = embedding(words, [10_000, 64], param = "embedding");
        fc(sequence_pool(word, average), 64, act = softmax, param = "semantic")
    }

    pub fn nearer(a: Seq<i64>, q: Seq<i64>, b: Seq<i64>) -> Tensor<bool, _, 1> {
        let (a, q, b) = (semantic(a), semantic(q), semantic(b));
        cross_entropy(a, q, soft_label = true) < cross_entropy(b, q, soft_label = true)
    }
}

fn main() {
    let net = ranking::nearer();
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let rows = [net.row(vec![1], vec![2], vec![3])];
    let _ = trainer.step(&net, &mut parameters, &rows);
}
