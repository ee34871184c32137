//! Distillation: a student learns from labels, and from the softened answers of a teacher.

use paddle::attribute::network;

#[network]
pub mod distillation {
    const TEMPERATURE: f32 = 4.0;
    const CLASSES: usize = 5;

    fn teach(x: _) -> Tensor<f32, _, CLASSES> {
        let hidden = fc(x, 32, act = relu, lr = 0.0);
        fc(hidden, CLASSES, lr = 0.0)
    }

    fn learn(x: _) -> Tensor<f32, _, CLASSES> {
        fc(fc(x, 6, act = relu), CLASSES)
    }

    pub fn cost(x: Tensor<f32, _, 9>, label: Tensor<i64, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
        let logits = learn(x, param = "student");
        let targets = softmax(teach(x, param = "teacher") / TEMPERATURE);
        let soft = mean(softmax_with_cross_entropy(logits / TEMPERATURE, targets, soft_label = true));
        let hard = mean(softmax_with_cross_entropy(logits, label));
        let right = accuracy(softmax(logits), label);
        (0.5 * hard + 0.5 * soft * TEMPERATURE * TEMPERATURE, right)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(distillation::cost())]
}
