//! A triplet loss: an anchor is to be nearer to its like than to another, by a margin.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|anchor: Tensor<f32, _, 9>, like: Tensor<f32, _, 9>, other: Tensor<f32, _, 9>| {
        let embed = |x| {
            let hidden = fc(x, 8, act = relu, param = "hidden");
            fc(hidden, 4, param = "embedding")
        };
        let distance = |a, b| sum(square(embed(a) - embed(b)), axis = 1, keep_dim = true);
        let margin = 0.2;
        let violation = relu(distance(anchor, like) - distance(anchor, other) + margin);
        mean(violation)
    });
    vec![crate::model(net)]
}
