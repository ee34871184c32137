//! A tagger: a class for each token, and a sequence of answers.

use paddle::attribute::network;

#[network]
pub mod tagger {
    fn logits(tokens: Seq<Tensor<f32, 5>>) -> _ {
        let hidden = fc(tokens, 12, act = tanh);
        fc(hidden, 3)
    }

    pub fn cost(tokens: Seq<Tensor<f32, 5>>) -> Tensor<f32> {
        let probability = softmax(logits(tokens));
        // Unsupervised: every token is to be sure of its class.
        -mean(probability * log(probability + 1e-6))
    }

    /// One vote for each sequence, and the probabilities of each token.
    pub fn tags(tokens: Seq<Tensor<f32, 5>>) -> _ {
        let probability = softmax(logits(tokens));
        (sequence_pool(probability, average), probability)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(tagger::cost()), crate::model(tagger::tags())]
}
