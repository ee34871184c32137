//! An initialiser is called.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        fc(x, 8, init = xavier)
        //~             ^^^^^^ argument-kind
    });
}
