//! A mixture density network: several normal distributions, their weights and widths from one input.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| {
        const PARTS: usize = 3;
        let hidden = fc(x, 10, act = tanh);
        let weight = softmax(fc(hidden, PARTS));
        let mu = fc(hidden, PARTS);
        let sigma = softplus(fc(hidden, PARTS)) + 0.05;
        // `y` is one column, and stands beside each of the parts.
        let density = weight * exp(-0.5 * square((y - mu) / sigma)) / (sigma * 2.5066);
        -mean(log(sum(density, axis = 1) + 1e-6))
    });
    vec![crate::model(net)]
}
