//! A tree of decisions with a small network in each leaf: nested branches of rows.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|age: Tensor<f32, _, 1>, income: Tensor<f32, _, 1>, x: Tensor<f32, _, 4>, y: Tensor<f32, _, 1>| {
        let leaf = |x| fc(x, 1, act = tanh);
        let risk = if age < 0.0 {
            if income < 0.2 {
                leaf(x, param = "young.poor")
            } else {
                let hidden = fc(x, 6, act = relu, param = "young.hidden");
                leaf(hidden, param = "young.rich")
            }
        } else {
            if income < -0.3 && age > 0.5 {
                0.9
            } else {
                leaf(x, param = "old") * income
            }
        };
        mean(square(risk - y))
    });
    vec![crate::model(net)]
}
