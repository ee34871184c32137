//! A `mut` that is not needed.
#![deny(warnings)]

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let mut price = fc(x, 1);
        //~ ^^^^^^^^^ rustc
        mean(price - y)
    });
}
