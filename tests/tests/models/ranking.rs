//! A ranking model of texts: three branches share one network, and what a text means is asked of another.

use paddle::attribute::network;

#[network]
pub mod ranking {
    const VOCABULARY: usize = 10_000;

    /// One branch. Every call shares the parameters that it names.
    fn semantic(words: Seq<i64>) -> Tensor<f32, _, 64> {
        let word = embedding(words, [VOCABULARY, 64], param = "embedding");
        softmax(fc(sequence_pool(word, average), 64, param = "semantic"))
    }

    /// `a` is to be nearer to `q` than `b` is.
    pub fn cost(a: Seq<i64>, q: Seq<i64>, b: Seq<i64>) -> Tensor<f32> {
        let (near, far) = (
            cross_entropy(semantic(a), semantic(q), soft_label = true),
            cross_entropy(semantic(b), semantic(q), soft_label = true),
        );
        mean(rank_loss(1.0, far, near))
    }

    pub fn vector(words: Seq<i64>) -> Tensor<f32, _, 64> {
        semantic(words)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let cost = crate::model(ranking::cost());
    assert_eq!(cost.parameter_names(), ["embedding.w", "semantic.w", "semantic.b"]);
    vec![cost, crate::model(ranking::vector())]
}
