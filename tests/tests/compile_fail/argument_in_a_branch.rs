//! A value of a branch where a number is wanted: its rows are `_` to the user.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| {
        if x > 0.0 { scale(x, y) } else { y * false }
        //~                   ^ argument-kind
        //~                                   ^^^^^ element-type
    });
}
