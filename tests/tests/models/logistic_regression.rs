//! Logistic regression with the cross-entropy of two classes written out; one network trains, one answers.

use paddle::attribute::network;

/// Whether a patient is ill, by eight measurements.
#[network]
pub mod diagnosis {
    /// Away from 0 and 1, where the logarithm has no bounds.
    const MARGIN: f32 = 1e-6;

    fn probability(x: _) -> Tensor<f32, _, 1> {
        fc(x, 1, act = sigmoid, param = "logit")
    }

    pub fn cost(x: Tensor<f32, _, 8>, ill: Tensor<f32, _, 1>) -> Tensor<f32> {
        let p = clip(probability(x), MARGIN, 1.0 - MARGIN);
        -mean(ill * log(p) + (1.0 - ill) * log(1.0 - p))
    }

    /// The probability, and the decision.
    pub fn decide(x: Tensor<f32, _, 8>, threshold: Tensor<f32>) -> (Tensor<f32, _, 1>, Tensor<bool, _, 1>) {
        let p = probability(x);
        (p, p > threshold)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(diagnosis::cost()), crate::model(diagnosis::decide())]
}
