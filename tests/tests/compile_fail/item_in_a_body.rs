//! An item in a body is one mistake, also where it is used.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        fc(x, { static SIZE: usize = 3; SIZE })
        //~     ^^^^^^^^^^^^^^^^^^^^^^^ not-of-the-language
    });
}
