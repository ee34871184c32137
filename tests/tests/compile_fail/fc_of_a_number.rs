//! A number is called by what was written.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        x + fc(1.0, 3)
        //~    ^^^ shape
    });
}
