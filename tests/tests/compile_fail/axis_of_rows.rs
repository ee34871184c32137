//! The argument that is in error, not the value that it is about.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>, y: Tensor<f32, _, 3>, label: Tensor<i64, _, 1>| {
        let all = concat([x, y], axis = 0);
        //~                             ^ constant
        let turned = transpose(x, [1, 0]);
        //~                       ^^^^^^ constant
        let best = accuracy(x, label, k = 5);
        //~                               ^ constant
        (all, turned, best, dropout(y, 1.5))
        //~                            ^^^ constant
    });
}
