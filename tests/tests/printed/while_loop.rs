use paddle::attribute::network;

#[network]
pub mod while_loop {
    pub fn predict(x: Tensor<f32, _, 4>, n: Tensor<i64, 1>) -> (Tensor<f32, _, 4>, Tensor<i64, 1>) {
        let mut state1 = assign([0]);
        let mut x_2 = x;
        while state1 < n {
            x_2 = fc(x_2, 4, bias = false, act = tanh, param = ["create_parameter_0.w_0"]);
            state1 += 1;
        }
        (x_2, state1)
    }
}
