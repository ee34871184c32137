//! An assignment has no value.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| {
        let mut h = x;
        if h = y { h } else { x }
        //~^^^^^ not-of-the-language
    });
}
