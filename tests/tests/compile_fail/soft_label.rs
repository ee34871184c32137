//! A probability for each class, but of other classes than there are.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 10>, label: Tensor<f32, _, 3>| {
        mean(cross_entropy(softmax(x), label, soft_label = true))
        //~                            ^^^^^ shape
    });
}
