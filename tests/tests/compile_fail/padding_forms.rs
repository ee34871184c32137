//! Padding in forms that it does not have.

fn main() {
    let _words = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        conv2d(x, 4, 3, padding = smae)
        //~                       ^^^^ argument-kind
    });
    let _quotes = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        pool2d(x, 2, padding = "same")
        //~                    ^^^^^^ argument-kind
    });
    let _sides = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        conv2d(x, 4, 3, padding = [1, 2, 1])
        //~                       ^^^^^^^^^ constant
    });
    let _of_images = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        conv2d(x, 4, 3, padding = same, stride = 2, dilation = 2)
        //~                       ^^^^ constant
    });
    let _value = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        conv2d(x, 4, 3, padding = x)
        //~                       ^ argument-kind
    });
}
