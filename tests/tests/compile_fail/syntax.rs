//! Tokens that are not Rust.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| mean(fc(x, 1) +;));
    //~                                                                ^ syntax
}
