//! A bilinear score of two values by one matrix: `xᵀ W y` for each row.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 5>, y: Tensor<f32, _, 7>, good: Tensor<f32, _, 1>| {
        let projected = fc(x, 7, bias = false, init = normal(0.0, 0.1));
        let score = sum(projected * y, axis = 1, keep_dim = true);
        mean(square(sigmoid(score) - good))
    });
    let model = crate::model(net);
    assert_eq!(model.parameter_names(), ["projected.w"]);
    vec![model]
}
