//! Scalars that are fed: the temperature of a softmax, and a switch between training and answering.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 6>, temperature: Tensor<f32>, sharpen: Tensor<bool>, t: Tensor<f32, 1>| {
        let logits = fc(x, 4);
        let heat = if sharpen { 0.5 * square(temperature) + 0.1 } else { abs(temperature) + 0.1 };
        let probabilities = softmax(logits / heat);
        probabilities * t
    });
    vec![crate::model(net)]
}
