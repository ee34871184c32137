//! Losses made of operators: Huber's, the hinge, quantiles, the logarithm of the hyperbolic cosine.

use paddle::attribute::network;

/// Parts that take a prediction and a target.
#[network]
pub mod losses {
    /// Squared near the target, absolute far from it: each row takes its own way.
    pub fn huber(x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>, #[default = 1.0] delta: f32) -> Tensor<f32, _, 1> {
        let error = abs(x - y);
        if error <= delta { 0.5 * square(error) } else { delta * (error - 0.5 * delta) }
    }

    /// `y` is 1 or -1.
    pub fn hinge(x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>, #[default = 1] margin: usize) -> Tensor<f32, _, 1> {
        relu(margin - x * y)
    }

    pub fn quantile(x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>, tau: f32) -> Tensor<f32, _, 1> {
        let error = y - x;
        elementwise_max(tau * error, (tau - 1.0) * error)
    }

    pub fn log_cosh(x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>) -> Tensor<f32, _, 1> {
        let error = x - y;
        error + softplus(-2.0 * error) - 0.6931472
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = paddle::network!(|x: Tensor<f32, _, 4>, y: Tensor<f32, _, 1>| {
        use crate::robust_losses::losses::{hinge, huber, log_cosh, quantile};
        let predicted = fc(x, 1);
        let near = mean(huber(predicted, y));
        let far = mean(huber(predicted, y, delta = 0.1));
        let side = mean(hinge(predicted, y));
        let (low, high) = (mean(quantile(predicted, y, 0.1)), mean(quantile(predicted, y, 0.9)));
        let smooth = mean(log_cosh(predicted, y));
        (near + far + side + low + high + smooth, near, low, high)
    });
    vec![crate::model(net), crate::model(losses::log_cosh())]
}
