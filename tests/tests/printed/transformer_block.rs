use paddle::attribute::network;

#[network]
pub mod transformer_block {
    pub fn predict(x: Tensor<f32, _, 6, 32>) -> Tensor<f32, _, 6, 32> {
        let fc1 = fc(x, 32, axis = -1, param = ["linear_0.w_0", "linear_0.b_0"]);
        let transpose1 = transpose(reshape(fc1, [6, 4, 8]), [0, 2, 1, 3]);
        let fc2 = fc(x, 32, axis = -1, param = ["linear_1.w_0", "linear_1.b_0"]);
        let fc3 = fc(x, 32, axis = -1, param = ["linear_2.w_0", "linear_2.b_0"]);
        let transpose2 = transpose(reshape(fc2, [6, 4, 8]), [0, 2, 1, 3]);
        let transpose3 = transpose(reshape(fc3, [6, 4, 8]), [0, 2, 1, 3]);
        let matmul1 = matmul(transpose1 * 0.35355338, transpose2, transpose_y = true);
        let transpose4 = transpose(matmul(softmax(matmul1), transpose3), [0, 2, 1, 3]);
        let fc4 = fc(
            reshape(transpose4, [6, 32]),
            32,
            axis = -1,
            param = ["linear_3.w_0", "linear_3.b_0"],
        );
        let norm1 = layer_norm(x + fc4, param = ["layer_norm_0.w_0", "layer_norm_0.b_0"]);
        let fc5 = fc(norm1, 64, axis = -1, act = relu, param = ["linear_4.w_0", "linear_4.b_0"]);
        let fc6 = fc(fc5, 32, axis = -1, param = ["linear_5.w_0", "linear_5.b_0"]);
        layer_norm(norm1 + fc6, param = ["layer_norm_1.w_0", "layer_norm_1.b_0"])
    }
}
