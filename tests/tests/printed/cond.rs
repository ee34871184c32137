use paddle::attribute::network;

#[network]
pub mod cond {
    pub fn predict(x: Tensor<f32, _, 4>, flag: Tensor<f32, 1>) -> Tensor<f32, _, 3> {
        if sum(flag) > 0.5 {
            fc(x, 3, bias = false, param = ["create_parameter_0.w_0"])
        } else {
            fc(x, 3, bias = false, act = relu, param = ["create_parameter_1.w_0"])
        }
    }
}
