//! Computation that goes on until a halting score is reached, or too many steps are done; what it
//! takes is part of the cost.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 4>, y: Tensor<f32, _, 1>| {
        const LIMIT: usize = 6;
        let mut state = fc(x, 8, act = tanh);
        let mut halted = 0.0;
        let mut steps = 0;
        while halted < 0.99 && steps < LIMIT {
            state = fc(state, 8, act = tanh, param = "step");
            halted += mean(fc(state, 1, act = sigmoid, param = "halt"));
            steps += 1;
        }
        let answer = fc(state, 1);
        (mean(square(answer - y)) + 0.01 * halted, steps)
    });
    vec![crate::model(net)]
}
