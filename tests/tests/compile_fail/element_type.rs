//! Values of two element types.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<i64, _, 1>| {
        mean(fc(x, 1) - y)
        //~             ^ element-type
    });
}
