//! A mixture of experts with soft gates, one column of the gate for each.

use paddle::attribute::network;

#[network]
pub mod mixture {
    const EXPERTS: usize = 3;

    fn mixed(x: Tensor<f32, _, 6>) -> Tensor<f32, _, 2> {
        let gate = softmax(fc(x, EXPERTS, param = "gate"));
        let mut y = 0.0;
        for i in 0..EXPERTS {
            let weight = slice(gate, [1], [i], [i + 1]);
            y += weight * fc(x, 2, act = tanh, param = "expert{i}");
        }
        y
    }

    pub fn cost(x: Tensor<f32, _, 6>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        mean(square(mixed(x) - y))
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(mixture::cost())]
}
