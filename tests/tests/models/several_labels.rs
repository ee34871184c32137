//! Several labels at once, each true or false, and how many of them are right.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 8>, labels: Tensor<bool, _, 5>| {
        let logits = fc(fc(x, 12, act = relu), 5);
        let truth = cast(labels, f32);
        let cost = mean(sum(softplus(logits) - truth * logits, axis = 1));
        let right = mean(cast((logits > 0.0) == labels, f32));
        let all_right = mean(cast(min(cast((logits > 0.0) == labels, f32), axis = 1) > 0.5, f32));
        (cost, right, all_right)
    });
    vec![crate::model(net)]
}
