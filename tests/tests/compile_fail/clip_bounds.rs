//! The least value is not above the greatest.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        clip(x, 1.0, 0.0)
        //~          ^^^ constant
    });
}
