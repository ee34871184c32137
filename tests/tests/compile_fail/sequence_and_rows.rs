//! Logits of each token, and a label of each row.

fn main() {
    let _net = paddle::network!(|words: Seq<Tensor<f32, 4>>, label: Tensor<i64, _, 1>| {
        mean(softmax_with_cross_entropy(fc(words, 3), label))
        //~                                           ^^^^^ row-spaces
    });
}
