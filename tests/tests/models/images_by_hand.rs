//! A convolutional network by hand: filters of several sizes, strides and groups, a transpose, and every kind of pooling.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|image: Tensor<f32, _, 2, 12, 10>, target: Tensor<f32, _, 3>| {
        let edges = conv2d(image, 8, [3, 5], padding = [1, 2], act = leaky_relu);
        let small = pool2d(edges, 2, kind = avg);
        let grouped = conv2d(small, 8, 3, groups = 8, padding = same, dilation = 2, bias = false);
        let gate = conv2d(small, 8, 1, act = sigmoid);
        let tall = pool2d(grouped * gate, [3, 2], stride = [3, 1], ceil = true);
        let wide = conv2d_transpose(tall, 4, 3, stride = [1, 2], padding = 1, output_padding = [0, 1], groups = 2, act = tanh);
        let (strongest, _places) = max_pool2d_with_index(wide, [1, 2]);
        let spread = adaptive_pool2d(strongest, [1, 2], kind = avg) + global_pool2d(strongest);
        let predicted = fc(spread, 3);
        mean(abs(predicted - target))
    });
    vec![crate::model(net)]
}
