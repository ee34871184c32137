//! A cell with a state that is a tuple, run for as many steps as the caller asks for.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 3>, steps: Tensor<i64>, target: Tensor<f32, _, 6>| {
        let gate = |x, h| fc([x, h], 6, act = sigmoid);
        let cell = |x, (h, c)| {
            let (forget, input, output) =
                (gate(x, h, param = "forget"), gate(x, h, param = "input"), gate(x, h, param = "output"));
            let candidate = fc([x, h], 6, act = tanh, param = "candidate");
            let c = forget * c + input * candidate;
            (output * tanh(c), c)
        };
        let (mut h, mut c) = (fc(x, 6, param = "h0"), fc(x, 6, param = "c0"));
        let mut step = 0;
        while step < steps {
            (h, c) = cell(x, (h, c));
            step += 1;
        }
        mean(square(h - target))
    });
    vec![crate::model(net)]
}
