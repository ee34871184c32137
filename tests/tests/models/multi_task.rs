//! Two tasks on common features: the cost is weighted, and each task reports what it is doing.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(
        |x: Tensor<f32, _, 12>, price: Tensor<f32, _, 1>, kind: Tensor<i64, _, 1>, weight: Tensor<f32>| {
            let features = fc(x, 16, act = relu);
            let price_hat = fc(features, 1);
            let kind_hat = fc(features, 3);
            let price_error = mean(square(price_hat - price));
            let kind_error = mean(softmax_with_cross_entropy(kind_hat, kind));
            let bias = mean(price_hat - price);
            let cost = weight * price_error + (1.0 - weight) * kind_error;
            (cost, price_error, kind_error, bias)
        }
    );
    let model = crate::model(net);
    let names: Vec<&str> = model.outputs().iter().map(|&var| model.var(var).name.as_str()).collect();
    assert_eq!(names, ["cost", "price_error", "kind_error", "bias"]);
    vec![model]
}
