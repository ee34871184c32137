//! Regression that also predicts how sure it is: the likelihood of a normal distribution.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 6>, y: Tensor<f32, _, 1>| {
        let hidden = fc(x, 12, act = silu);
        let mu = fc(hidden, 1);
        let variance = fc(hidden, 1, act = softplus) + 1e-4;
        let likelihood = -0.5 * (log(variance) + square(y - mu) / variance);
        let deviation = mean(sqrt(variance));
        (-mean(likelihood), deviation)
    });
    vec![crate::model(net)]
}
