//! Sentiment of texts: the average of word vectors, a hidden layer, two classes, and how often it is right.

use paddle::attribute::network;

#[network]
pub mod sentiment {
    const VOCABULARY: usize = 500;

    fn classify(words: Seq<i64>) -> Tensor<f32, _, 2> {
        let word = embedding(words, [VOCABULARY, 16], padding_idx = 0);
        let text = sequence_pool(word, average);
        let hidden = fc(text, 16, act = relu);
        fc(hidden, 2)
    }

    pub fn cost(words: Seq<i64>, label: Tensor<i64, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
        let logits = classify(words);
        let right = accuracy(logits, label);
        (mean(softmax_with_cross_entropy(logits, label)), right)
    }

    pub fn predict(words: Seq<i64>) -> Tensor<f32, _, 2> {
        softmax(classify(words))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(sentiment::cost()), crate::model(sentiment::predict())]
}
