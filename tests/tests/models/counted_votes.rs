//! Truth values and whole numbers that are reduced, products of probabilities, and their logarithms.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 6>, votes: Tensor<i64, _, 4>, kind: Tensor<i64, _, 1>| {
        let unanimous = all(votes > 0, axis = 1, keep_dim = true);
        let doubted = any(votes == 0, axis = 1, keep_dim = true);
        let counted = cast(sum(votes, axis = 1, keep_dim = true) * max(votes) + min(votes), f32);
        let together = prod(sigmoid(fc(x, 3)), axis = 1, keep_dim = true);
        let likely = log_softmax(fc(x, 4));
        let agreed = cast(unanimous, f32) - cast(doubted, f32) + 0.01 * counted;
        let cost = mean(square(together - agreed) - likely) + mean(softmax_with_cross_entropy(likely, kind));
        (cost, any(doubted), prod(votes))
    });
    vec![crate::model(net)]
}
