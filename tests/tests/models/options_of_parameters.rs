//! What a layer asks of its parameters: how they begin, how fast they move, and how they are held back.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 6>, y: Tensor<f32, _, 1>| {
        // A frozen projection, a slow layer, and one that is decayed and clipped.
        let random = fc(x, 12, act = relu, init = normal(0.0, 0.5), bias_init = uniform(-0.1, 0.1), lr = 0.0);
        let slow = fc(random, 8, act = tanh, lr = 0.1);
        let held = fc(slow, 1, decay = 1e-2, clip = 0.5, init = uniform(-0.2, 0.2));
        mean(square(held - y))
    });
    vec![crate::model(net)]
}
