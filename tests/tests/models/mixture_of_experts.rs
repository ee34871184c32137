//! A mixture of experts with hard routing: each row runs on the expert that its gate chooses, and on no other.

use paddle::attribute::network;

#[network]
pub mod experts {
    fn expert(x: Tensor<f32, _, D>) -> Tensor<f32, _, 2> {
        let hidden = fc(x, 2 * 6, act = relu);
        fc(hidden, 2)
    }

    fn route(x: Tensor<f32, _, 6>) -> (Tensor<f32, _, 2>, Tensor<f32, _, 1>) {
        let gate = fc(x, 1, act = sigmoid);
        let y = if gate < 0.25 {
            expert(x, param = "expert0") * (1.0 - gate)
        } else if gate < 0.75 {
            expert(x, param = "expert1")
        } else {
            expert(x, param = "expert2") * gate
        };
        (y, gate)
    }

    pub fn cost(x: Tensor<f32, _, 6>, y: Tensor<f32, _, 2>) -> (Tensor<f32>, Tensor<f32>) {
        let (predicted, gate) = route(x);
        let load = mean(gate);
        (mean(square(predicted - y)) + 0.01 * square(load - 0.5), load)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(experts::cost())]
}
