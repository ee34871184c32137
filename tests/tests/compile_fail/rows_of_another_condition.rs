//! A value that has rows, but not those that split.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 1>, c: Tensor<bool, N>| {
        if c { x } else { 0.0 }
        //~    ^ row-spaces
    });
}
