//! Arrays of values as state of loops and results of branches, numbers beside values in calls, comments anywhere.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>, n: Tensor<i64>| {
        let mut pair = [x, y];
        if x > y {
            pair = [y, x];
        }
        let mut i = 0;
        while i < n {
            /// The larger one is halved.
            let half = pair[1] * 0.5;
            pair = [pair[0], half];
            i += 1;
        }
        let sorted = elementwise_max(pair[0], 0) + elementwise_pow(pair[1], 2);
        mean(rank_loss(1, sorted, x))
    });
    vec![crate::model(net)]
}
