//! Normalisation and dropout on some rows, and in a loop: each sees the rows that are there.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let branches = network!(|x: Tensor<f32, _, 5>, known: Tensor<bool, _>| {
        let h = if known {
            dropout(batch_norm(fc(x, 6)), 0.5)
        } else {
            fc(x, 6, param = "unknown")
        };
        mean(square(h))
    });
    let loops = network!(|x: Tensor<f32, _, 5>, steps: Tensor<i64>| {
        let mut h = x;
        let mut step = 0;
        while step < steps {
            h = dropout(fc(h, 5, act = tanh, param = "step"), 0.1);
            step += 1;
        }
        mean(square(h))
    });
    vec![crate::model(branches), crate::model(loops)]
}
