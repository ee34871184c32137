//! `self` is no name of a value.

fn main() {
    let _net = paddle::network!(|self: Tensor<f32, _, 3>| self);
    //~                          ^^^^ not-of-the-language
}
