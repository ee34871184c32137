//! Wide and deep: a linear model of crossed features beside a deep one of embedded categories.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|wide: Tensor<f32, _, 20>,
                        city: Tensor<i64, _, 1>,
                        device: Tensor<i64, _, 1>,
                        dense: Tensor<f32, _, 4>,
                        clicked: Tensor<f32, _, 1>| {
        let city = reshape(embedding(city, [50, 8]), [8]);
        let device = reshape(embedding(device, [5, 2]), [2]);
        let mut deep = concat([city, device, dense]);
        for (i, size) in [(0, 16), (1, 8)] {
            deep = fc(deep, size, act = relu, param = "deep{i}");
        }
        let logit = fc(wide, 1, decay = 1e-3) + fc(deep, 1);
        let p = sigmoid(logit);
        (mean(softplus(logit) - clicked * logit), mean(p))
    });
    vec![crate::model(net)]
}
