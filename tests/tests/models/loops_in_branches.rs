//! Loops in loops in a branch of rows, with parameters in the innermost.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 2>, rounds: Tensor<i64>, hard: Tensor<bool, _>| {
        let mut h = x;
        if hard {
            let mut round = 0;
            while round < rounds {
                let mut k = 0;
                while k < round {
                    h = fc(h, 2, act = tanh, param = "inner");
                    k += 1;
                }
                h *= 0.5;
                round += 1;
            }
        }
        mean(square(fc(h, 1)))
    });
    vec![crate::model(net)]
}
