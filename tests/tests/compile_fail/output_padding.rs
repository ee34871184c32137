//! Results of a transposed convolution that no convolution has.

fn main() {
    let _as_stride = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        conv2d_transpose(x, 4, 3, stride = 2, output_padding = 2)
        //~                                                    ^ constant
    });
    let _said_twice = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        conv2d_transpose(x, 4, 3, stride = 2, padding = same, output_padding = 1)
        //~                                                                    ^ constant
    });
}
