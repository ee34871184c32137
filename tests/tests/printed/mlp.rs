use paddle::attribute::network;

#[network]
pub mod mlp {
    pub fn predict(x: Tensor<f32, _, 784>) -> Tensor<f32, _, 10> {
        let fc1 = fc(x, 64, act = relu, param = ["fc_0.w_0", "fc_0.b_0"]);
        let fc2 = fc(fc1, 32, act = tanh, param = ["fc_1.w_0", "fc_1.b_0"]);
        let fc3 = fc(fc2, 10, param = ["fc_2.w_0", "fc_2.b_0"]);
        softmax(fc3)
    }
}
