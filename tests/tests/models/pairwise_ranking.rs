//! Learning to rank from pairs (RankNet): one network scores both documents of a pair.

use paddle::attribute::network;

#[network]
pub mod pairs {
    fn score(document: Tensor<f32, _, 10>) -> Tensor<f32, _, 1> {
        let hidden = fc(document, 8, act = relu, param = "hidden");
        fc(hidden, 1, param = "score")
    }

    /// `better` is above `worse`; how often it is, is a metric.
    pub fn cost(better: Tensor<f32, _, 10>, worse: Tensor<f32, _, 10>) -> (Tensor<f32>, Tensor<f32>) {
        let margin = score(better) - score(worse);
        let mut right = 0.0 * margin;
        if margin > 0.0 {
            right = 1.0;
        }
        let accuracy = mean(right);
        (mean(softplus(-margin)), accuracy)
    }

    pub fn rank(document: Tensor<f32, _, 10>) -> _ {
        score(document)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let cost = crate::model(pairs::cost());
    assert_eq!(cost.parameter_names(), ["hidden.w", "hidden.b", "score.w", "score.b"]);
    vec![cost, crate::model(pairs::rank())]
}
