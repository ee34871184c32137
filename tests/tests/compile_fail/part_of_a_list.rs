//! The part of a list that is in error.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>, id: Tensor<i64, _, 1>| {
        fc([x, id], 8)
        //~    ^^ element-type
    });
}
