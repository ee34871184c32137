//! A tuple where one value is wanted.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        mean((x, y))
        //~  ^^^^^^ tuple
    });
}
