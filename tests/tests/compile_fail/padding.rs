//! Padding that is no number of zeros.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        conv2d(x, 4, 3, padding = -1)
        //~                       ^^ constant
    });
}
