//! A highway network: each layer learns how much of its input to carry on.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 10>, y: Tensor<f32, _, 1>| {
        const DEPTH: usize = 4;
        let layer = |x: Tensor<f32, _, D>| {
            let transform = fc(x, D, act = tanh);
            // Carry at first.
            let gate = fc(x, D, act = sigmoid, bias_init = constant(-2.0));
            gate * transform + (1.0 - gate) * x
        };
        let mut h = x;
        for i in 0..DEPTH {
            h = layer(h, param = "highway{i}");
        }
        mean(square(fc(h, 1) - y))
    });
    vec![crate::model(net)]
}
