//! Training in double precision: every layer takes the element type of what it is fed.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f64, _, 7>, label: Tensor<i64, _, 1>| {
        let hidden = batch_norm(fc(x, 9, bias = false), act = relu);
        let logits = fc(dropout(hidden, 0.2), 3);
        mean(softmax_with_cross_entropy(logits, label))
    });
    vec![crate::model(net)]
}
