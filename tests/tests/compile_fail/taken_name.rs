//! A second layer under a binding, whose name is that of another binding.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let hidden_1 = fc(x, 13);
        let hidden = fc(fc(hidden_1, 13), 13);
        //~          ^^^^^^^^^^^^^^^^^^^^^^^^ taken-name
        mean(hidden)
    });
}
