//! `break` without a loop.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _>| {
        if x > 1.0 {
            break;
        //~ ^^^^^ not-of-the-language
        }
        x
    });
}
