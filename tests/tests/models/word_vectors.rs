//! Word vectors by negative sampling: a word is nearer to its neighbour than to words drawn at random.

use paddle::attribute::network;

#[network]
pub mod skip_gram {
    const WORDS: usize = 200;
    const NEGATIVES: usize = 3;

    pub fn cost(word: Tensor<i64, _>, context: Tensor<i64, _>, others: Tensor<i64, _, NEGATIVES>) -> Tensor<f32> {
        let centre = embedding(word, [WORDS, 8], param = "in");
        let near = embedding(context, [WORDS, 8], param = "out");
        let far = embedding(others, [WORDS, 8], param = "out");
        let attract = logsigmoid(sum(centre * near, axis = 1));
        let repel = logsigmoid(-sum(reshape(centre, [1, 8]) * far, axis = 2));
        -mean(attract + sum(repel, axis = 1))
    }

    pub fn vector(word: Tensor<i64, _>) -> Tensor<f32, _, 8> {
        embedding(word, [WORDS, 8], param = "in")
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let cost = crate::model(skip_gram::cost());
    assert_eq!(cost.parameter_names(), ["in.w", "out.w"]);
    vec![cost, crate::model(skip_gram::vector())]
}
