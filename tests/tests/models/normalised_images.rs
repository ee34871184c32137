//! Convolutions whose channels are normalised in groups, and each by itself.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|image: Tensor<f32, _, 2, 6, 6>, label: Tensor<i64, _, 1>| {
        let grouped = group_norm(conv2d(image, 4, 3, bias = false), 2, act = relu);
        let each = instance_norm(conv2d(grouped, 3, 2), epsilon = 0.0001);
        let apart = l2_normalize(each, axis = 1, epsilon = 0.01);
        mean(softmax_with_cross_entropy(fc(apart, 3), label))
    });
    vec![crate::model(net)]
}
