//! Inputs of one layer that have other rows.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>, y: Tensor<f32, N, 4>| {
        fc([x, y], 8)
        //~    ^ row-spaces
    });
}
