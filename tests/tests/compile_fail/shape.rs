//! Shapes that do not fit.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 3>| {
        mean(fc(x, 2) - y)
        //~             ^ shape
    });
}
