//! Poisson regression: counts with an exposure, and the deviance as a metric.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 4>, exposure: Tensor<f32, _, 1>, count: Tensor<f32, _, 1>| {
        let (exposure, count) = (abs(exposure) + 0.5, abs(count) + 0.1);
        let log_rate = fc(x, 1, init = constant(0.0)) + log(exposure);
        let rate = exp(log_rate);
        let deviance = 2.0 * mean(count * log(count / rate) - (count - rate));
        (mean(rate - count * log_rate), deviance)
    });
    vec![crate::model(net)]
}
