//! A factorisation machine: all pairs of features in linear time, as half of a square of sums less a sum of squares.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|fields: Seq<i64>, y: Tensor<f32, _, 1>| {
        const FEATURES: usize = 400;
        let (factor, weight) = (embedding(fields, [FEATURES, 6]), embedding(fields, [FEATURES, 1]));
        let square_of_sum = square(sequence_pool(factor, sum));
        let sum_of_squares = sequence_pool(square(factor), sum);
        let pairs = 0.5 * sum(square_of_sum - sum_of_squares, axis = 1, keep_dim = true);
        let score = sequence_pool(weight, sum) + pairs;
        mean(softplus(score) - y * score)
    });
    let model = crate::model(net);
    assert_eq!(model.parameter_names(), ["factor.w", "weight.w"]);
    vec![model]
}
