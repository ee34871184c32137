//! Classes are channels of images, and the loss is not told so.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3, 16, 16>, kind: Tensor<i64, _, 16, 16>| {
        let kinds = conv2d(x, 5, 3, padding = 1);
        mean(softmax_with_cross_entropy(kinds, kind))
        //~                                    ^^^^ shape
    });
}
