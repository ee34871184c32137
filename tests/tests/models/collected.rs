//! Loops that rows leave one by one, and what they give.

use paddle::attribute::network;

#[network]
pub mod pondering {
    /// Adaptive computation time: each row goes on until what it is sure of adds up.
    pub fn cost(x: Tensor<f32, _, 4>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        let mut h = fc(x, 4, act = tanh);
        let mut sure = 0.0;
        let mut answer = zeros(4);
        while sure < 0.9 {
            h = tanh(fc([h, x], 4));
            let more = 0.2 + 0.6 * sigmoid(sum(fc(h, 1), axis = 1));
            answer += h * unsqueeze(more, 1);
            sure += more;
        }
        mean(square(fc(answer, 2) - y)) + 0.01 * mean(sure)
    }

    /// The states of each row as a sequence, along which another loop goes.
    pub fn trajectory(x: Tensor<f32, _, 3>) -> Tensor<f32> {
        let mut h = x;
        let path = while sum(square(h), axis = 1) > 0.2 {
            h = 0.6 * tanh(fc(h, 3, param = "step"));
            h
        };
        let mut total = zeros(3);
        for state in path {
            total = tanh(total + state * x);
        }
        let spread = sequence_pool(square(path), sqrt);
        mean(total + spread + h)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![crate::model(pondering::cost()), crate::model(pondering::trajectory())]
}
