use paddle::attribute::network;

#[network]
pub mod textcnn {
    pub fn predict(ids: Tensor<i64, _, 12>) -> Tensor<f32, _, 3> {
        let embedded1 = embedding(ids, [200, 16], param = ["embedding_0.w_0"]);
        let reshape1 = reshape(embedded1, [1, 12, 16]);
        let conv1 = conv2d(
            reshape1,
            8,
            [2, 16],
            act = relu,
            param = ["conv2d_0.w_0", "conv2d_0.b_0"],
        );
        let conv2 = conv2d(
            reshape1,
            8,
            [3, 16],
            act = relu,
            param = ["conv2d_1.w_0", "conv2d_1.b_0"],
        );
        let conv3 = conv2d(
            reshape1,
            8,
            [4, 16],
            act = relu,
            param = ["conv2d_2.w_0", "conv2d_2.b_0"],
        );
        let concat1 = concat(
            [
                max(reshape(conv1, [8, 11]), axis = 2),
                max(reshape(conv2, [8, 10]), axis = 2),
                max(reshape(conv3, [8, 9]), axis = 2),
            ],
        );
        let fc1 = fc(concat1, 3, param = ["fc_0.w_0", "fc_0.b_0"]);
        softmax(fc1)
    }
}
