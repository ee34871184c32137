//! An input that nothing reads.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| mean(fc(x, 1)));
    //~                                                 ^ unused-input
}
