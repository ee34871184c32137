//! A number that nothing can hold.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        fc(x, 99999999999999999999) * 1e999
        //~   ^^^^^^^^^^^^^^^^^^^^ constant
        //~                           ^^^^^ constant
    });
}
