use paddle::attribute::network;

#[network]
pub mod lstm_classifier {
    pub fn predict(
        x: Tensor<f32, _, 7, 8>,
        len: Tensor<i64, _>,
    ) -> (Tensor<f32, _, 5>, Tensor<f32, _, 7, 16>) {
        let matmul1 = matmul(
            sequence_unpad(x, len),
            parameter([64, 8], param = ["lstm_cell_0.w_0"]),
            transpose_y = true,
        );
        let sum1 = matmul1 + parameter(64, param = ["lstm_cell_0.b_0"]);
        let mut state1 = zeros(16);
        let mut state2 = zeros(16);
        let seen1 = for x_2 in sum1 {
            let matmul2 = matmul(
                state1,
                parameter([64, 16], param = ["lstm_cell_0.w_1"]),
                transpose_y = true,
            );
            let sum2 = matmul2 + parameter(64, param = ["lstm_cell_0.b_1"]);
            let (split1, split2, split3, split4) = split(x_2 + sum2, 4);
            state2 = sigmoid(split2) * state2 + sigmoid(split1) * tanh(split3);
            state1 = sigmoid(split4) * tanh(state2);
            state1
        };
        let fc1 = fc(state1, 5, param = ["fc_0.w_0", "fc_0.b_0"]);
        (softmax(fc1), sequence_pad(seen1, 7))
    }
}
