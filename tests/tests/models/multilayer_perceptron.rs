//! A perceptron with two hidden layers that reads digits, its parameters drawn as their activations want them.

use paddle::attribute::network;

#[network]
pub mod digits {
    const PIXELS: usize = 8 * 8;

    fn logits(image: Tensor<f32, _, PIXELS>) -> Tensor<f32, _, 10> {
        let hidden = fc(image, 32, act = relu, init = msra());
        let hidden = fc(hidden, 16, act = tanh, init = xavier(), bias_init = constant(0.1));
        fc(hidden, 10)
    }

    pub fn cost(image: Tensor<f32, _, PIXELS>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        mean(softmax_with_cross_entropy(logits(image), label))
    }

    pub fn probabilities(image: Tensor<f32, _, PIXELS>) -> _ {
        softmax(logits(image))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let cost = crate::model(digits::cost());
    let names = ["hidden.w", "hidden.b", "hidden_1.w", "hidden_1.b", "fc.w", "fc.b"];
    assert_eq!(cost.parameter_names(), names.map(|name| format!("logits.{name}")));
    vec![cost, crate::model(digits::probabilities())]
}
