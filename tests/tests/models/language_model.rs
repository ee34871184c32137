//! The neural language model of Bengio et al. (2003): the next word from the four before it.

use paddle::attribute::network;

/// The words there are; others count them, too.
pub(crate) const VOCABULARY: usize = 120;

#[network]
pub mod language_model {
    const EMBEDDED: usize = 8;
    const CONTEXT: usize = 4;

    fn logits(words: Tensor<i64, _, CONTEXT>) -> _ {
        let words = embedding(words, [super::VOCABULARY, EMBEDDED], param = "word");
        let context = reshape(words, [CONTEXT * EMBEDDED]);
        let hidden = fc(context, 16, act = tanh);
        fc(hidden, super::VOCABULARY) + fc(context, super::VOCABULARY, bias = false)
    }

    pub fn cost(words: Tensor<i64, _, CONTEXT>, next: Tensor<i64, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
        let cost = mean(softmax_with_cross_entropy(logits(words), next));
        let perplexity = exp(cost);
        (cost, perplexity)
    }

    pub fn next(words: Tensor<i64, _, CONTEXT>) -> Tensor<f32, _, super::VOCABULARY> {
        softmax(logits(words))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(language_model::cost()), crate::model(language_model::next())]
}
