//! A filter and a window that reach over more than there is.

fn main() {
    let _filters = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        conv2d(x, 4, [3, 5], padding = 1, dilation = 3)
        //~    ^ shape
    });
    let _windows = paddle::network!(|x: Tensor<f32, _, 1, 4, 9>| {
        pool2d(x, 5)
        //~    ^ shape
    });
}
