use paddle::attribute::network;

#[network]
pub mod mobilenet_v1_x025 {
    fn block1(
        x: _,
        filters: usize,
        filter_size: usize,
        stride: usize,
        padding: usize,
        groups: usize,
        n: usize,
    ) -> _ {
        let conv1 = conv2d(
            x,
            filters,
            filter_size,
            stride = stride,
            padding = padding,
            groups = groups,
            bias = false,
            param = ["conv2d_{n}.w_0"],
        );
        batch_norm(
            conv1,
            act = relu,
            param = [
                "batch_norm2d_{n}.w_0",
                "batch_norm2d_{n}.b_0",
                "batch_norm2d_{n}.w_1",
                "batch_norm2d_{n}.w_2",
            ],
        )
    }

    pub fn predict(x: Tensor<f32, _, 3, 32, 32>) -> Tensor<f32, _, 10> {
        let mut h1 = x;
        for (filters, filter_size, stride, padding, groups, n) in [
            (8, 3, 2, 1, 1, 0),
            (8, 3, 1, 1, 8, 1),
            (16, 1, 1, 0, 1, 2),
            (16, 3, 2, 1, 16, 3),
            (32, 1, 1, 0, 1, 4),
            (32, 3, 1, 1, 32, 5),
            (32, 1, 1, 0, 1, 6),
            (32, 3, 2, 1, 32, 7),
            (64, 1, 1, 0, 1, 8),
            (64, 3, 1, 1, 64, 9),
            (64, 1, 1, 0, 1, 10),
            (64, 3, 2, 1, 64, 11),
            (128, 1, 1, 0, 1, 12),
            (128, 3, 1, 1, 128, 13),
            (128, 1, 1, 0, 1, 14),
            (128, 3, 1, 1, 128, 15),
            (128, 1, 1, 0, 1, 16),
            (128, 3, 1, 1, 128, 17),
            (128, 1, 1, 0, 1, 18),
            (128, 3, 1, 1, 128, 19),
            (128, 1, 1, 0, 1, 20),
            (128, 3, 1, 1, 128, 21),
            (128, 1, 1, 0, 1, 22),
            (128, 3, 2, 1, 128, 23),
            (256, 1, 1, 0, 1, 24),
            (256, 3, 1, 1, 256, 25),
            (256, 1, 1, 0, 1, 26),
        ] {
            h1 = block1(h1, filters, filter_size, stride, padding, groups, n);
        }
        fc(adaptive_pool2d(h1, 1, kind = avg), 10, param = ["linear_0.w_0", "linear_0.b_0"])
    }
}
