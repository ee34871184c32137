//! Layers of volumes, of what is none, and with windows that do not fit.

fn main() {
    let _images = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        conv3d(x, 4, 3)
        //~    ^ shape
    });
    let _unknown = paddle::network!(|x: Tensor<f32, _, 1, D, 8, 8>| {
        pool3d(x, 2)
        //~    ^ shape
    });
    let _whole = paddle::network!(|x: Tensor<i64, _, 1, 8, 8, 8>| {
        conv3d(x, 4, 3)
        //~    ^ element-type
    });
    let _filters = paddle::network!(|x: Tensor<f32, _, 1, 4, 8, 8>| {
        conv3d(x, 4, [3, 5, 3], padding = 1, dilation = 3)
        //~    ^ shape
    });
    let _windows = paddle::network!(|x: Tensor<f32, _, 1, 4, 8, 8>| {
        pool3d(x, 5)
        //~    ^ shape
    });
    let _sizes = paddle::network!(|x: Tensor<f32, _, 1, 8, 8, 8>| {
        conv3d(x, 4, [3, 3])
        //~          ^^^^^^ constant
    });
    let _sides = paddle::network!(|x: Tensor<f32, _, 1, 8, 8, 8>| {
        pool3d(x, 2, padding = [1, 2])
        //~                    ^^^^^^ constant
    });
    let _less = paddle::network!(|x: Tensor<f32, _, 1, 8, 8, 8>| {
        pool3d(x, 2, padding = -1)
        //~                    ^^ constant
    });
    let _same = paddle::network!(|x: Tensor<f32, _, 1, 8, 8, W>| {
        conv3d(x, 4, 3, padding = same, stride = 2)
        //~                       ^^^^ constant
    });
    let _groups = paddle::network!(|x: Tensor<f32, _, 6, 8, 8, 8>| {
        conv3d(x, 8, 3, groups = 4)
        //~                      ^ constant
    });
    let _deep = paddle::network!(|x: Tensor<f32, _, 1, 2000, 1, 1>| {
        conv3d(x, 4, [1025, 1, 1])
        //~          ^^^^^^^^^^^^ constant
    });
}
