//! Ordinal regression: one score and the thresholds between grades, each a fraction further than the last.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 5>, above: Tensor<f32, _, 3>| {
        let score = fc(x, 1, bias = false);
        let steps = [0.5, 1.5, 2.5];
        let mut cost = 0.0;
        for (k, step) in [(0, steps[0]), (1, steps[1]), (2, steps[2])] {
            let logit = score - step;
            let is_above = slice(above, [1], [k], [k + 1]);
            cost += mean(softplus(logit) - is_above * logit);
        }
        cost / 3.0
    });
    vec![crate::model(net)]
}
