use paddle::attribute::network;

#[network]
pub mod lenet {
    pub fn predict(image: Tensor<f32, _, 1, 28, 28>) -> Tensor<f32, _, 10> {
        let conv1 = conv2d(
            image,
            6,
            5,
            padding = 2,
            act = relu,
            param = ["conv2d_0.w_0", "conv2d_0.b_0"],
        );
        let conv2 = conv2d(
            pool2d(conv1, 2),
            16,
            5,
            act = relu,
            param = ["conv2d_1.w_0", "conv2d_1.b_0"],
        );
        let fc1 = fc(pool2d(conv2, 2), 84, act = relu, param = ["fc_0.w_0", "fc_0.b_0"]);
        let fc2 = fc(fc1, 10, param = ["fc_1.w_0", "fc_1.b_0"]);
        softmax(fc2)
    }
}
