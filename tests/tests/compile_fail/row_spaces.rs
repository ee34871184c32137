//! Values of two row spaces.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, N, 1>| {
        mean(fc(x, 1) - y)
        //~             ^ row-spaces
    });
}
