use paddle::attribute::network;

#[network]
pub mod resnet18_w8 {
    fn block1(x: _, filters: usize, stride: usize, n: usize) -> _ {
        let n2 = n + 1;
        let conv1 = conv2d(
            x,
            filters,
            3,
            stride = stride,
            padding = 1,
            bias = false,
            param = ["conv2d_{n}.w_0"],
        );
        let norm1 = batch_norm(
            conv1,
            act = relu,
            param = [
                "batch_norm2d_{n}.w_0",
                "batch_norm2d_{n}.b_0",
                "batch_norm2d_{n}.w_1",
                "batch_norm2d_{n}.w_2",
            ],
        );
        let conv2 = conv2d(
            norm1,
            filters,
            3,
            padding = 1,
            bias = false,
            param = ["conv2d_{n2}.w_0"],
        );
        batch_norm(
            conv2,
            param = [
                "batch_norm2d_{n2}.w_0",
                "batch_norm2d_{n2}.b_0",
                "batch_norm2d_{n2}.w_1",
                "batch_norm2d_{n2}.w_2",
            ],
        )
    }

    fn block2(x: _, filters: usize, n: usize) -> _ {
        let h1 = block1(x, filters, 1, n);
        relu(h1 + x)
    }

    pub fn predict(x: Tensor<f32, _, 3, 32, 32>) -> Tensor<f32, _, 10> {
        let conv1 = conv2d(
            x,
            8,
            7,
            stride = 2,
            padding = 3,
            bias = false,
            param = ["conv2d_20.w_0"],
        );
        let norm1 = batch_norm(
            conv1,
            act = relu,
            param = [
                "batch_norm2d_20.w_0",
                "batch_norm2d_20.b_0",
                "batch_norm2d_20.w_1",
                "batch_norm2d_20.w_2",
            ],
        );
        let h1 = block2(pool2d(norm1, 3, stride = 2, padding = 1), 8, 21);
        let h2 = block2(h1, 8, 23);
        let h3 = block1(h2, 16, 2, 25);
        let conv2 = conv2d(h2, 16, 1, stride = 2, bias = false, param = ["conv2d_27.w_0"]);
        let norm2 = batch_norm(
            conv2,
            param = [
                "batch_norm2d_27.w_0",
                "batch_norm2d_27.b_0",
                "batch_norm2d_27.w_1",
                "batch_norm2d_27.w_2",
            ],
        );
        let h4 = block2(relu(h3 + norm2), 16, 28);
        let h5 = block1(h4, 32, 2, 30);
        let conv3 = conv2d(h4, 32, 1, stride = 2, bias = false, param = ["conv2d_32.w_0"]);
        let norm3 = batch_norm(
            conv3,
            param = [
                "batch_norm2d_32.w_0",
                "batch_norm2d_32.b_0",
                "batch_norm2d_32.w_1",
                "batch_norm2d_32.w_2",
            ],
        );
        let h6 = block2(relu(h5 + norm3), 32, 33);
        let h7 = block1(h6, 64, 2, 35);
        let conv4 = conv2d(h6, 64, 1, stride = 2, bias = false, param = ["conv2d_37.w_0"]);
        let norm4 = batch_norm(
            conv4,
            param = [
                "batch_norm2d_37.w_0",
                "batch_norm2d_37.b_0",
                "batch_norm2d_37.w_1",
                "batch_norm2d_37.w_2",
            ],
        );
        let h8 = block2(relu(h7 + norm4), 64, 38);
        fc(adaptive_pool2d(h8, 1, kind = avg), 10, param = ["linear_1.w_0", "linear_1.b_0"])
    }
}
