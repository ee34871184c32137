//! Softmax over one class.

#![deny(deprecated)]

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 4>, label: Tensor<i64, _, 1>| {
        let score = fc(x, 1);
        let p = softmax(score);
        //~             ^^^^^ one-class
        let table = reshape(x, [4, 1]);
        let columns = softmax(table, axis = 1);
        let q = fc(x, 1, act = softmax);
        //~                    ^^^^^^^ one-class
        mean(softmax_with_cross_entropy(score, label)) + mean(p + q) + mean(columns)
        //~                             ^^^^^ one-class
    });
}
