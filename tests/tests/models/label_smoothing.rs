//! Soft labels that are fed, smoothed; and focal loss, for the examples that are hard.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let smoothed = network!(|x: Tensor<f32, _, 7>, target: Tensor<f32, _, 3>| {
        const CLASSES: f32 = 3.0;
        const SMOOTH: f32 = 0.1;
        let target = target * (1.0 - SMOOTH) + SMOOTH / CLASSES;
        let probability = softmax(fc(x, 3));
        mean(cross_entropy(probability, target, soft_label = true))
    });
    let focal = network!(|x: Tensor<f32, _, 7>, label: Tensor<i64, _, 1>, gamma: Tensor<f32>| {
        let loss = softmax_with_cross_entropy(fc(x, 3), label, ignore_index = -1);
        let right = exp(-loss);
        mean(elementwise_pow(1.0 - right + 1e-6, abs(gamma)) * loss)
    });
    vec![crate::model(smoothed), crate::model(focal)]
}
