//! A layer whose name is that of another binding: the second one under a binding, and one in an argument.

fn main() {
    let _second = paddle::network!(|x: Tensor<f32, _, 13>| {
        let hidden_1 = fc(x, 13);
        let hidden = fc(hidden_1, 13) + fc(x, 13);
        //~                             ^^^^^^^^^ taken-name
        mean(hidden)
    });
    let _argument = paddle::network!(|x: Tensor<f32, _, 13>| {
        let hidden_fc = fc(x, 13);
        let hidden = fc(fc(hidden_fc, 13), 13);
        //~             ^^^^^^^^^^^^^^^^^ taken-name
        mean(hidden)
    });
}
