//! A label that is not class ids.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 784>, label: Tensor<i64, _, 10>| {
        let digit = fc(x, 10);
        mean(softmax_with_cross_entropy(digit, label))
        //~                                    ^^^^^ shape
    });
}
