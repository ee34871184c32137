//! A mistake in one place does not hide that an input is not used.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 2>, z: Tensor<f32, _, 1>| {
    //~                                                                       ^ unused-input
        mean(x - y)
        //~      ^ shape
    });
}
