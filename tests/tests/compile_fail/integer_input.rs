//! A layer that needs floating-point numbers.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 2>, y: Tensor<i64, _, 1>| {
        mean(fc(y, 2) + x)
        //~     ^ element-type
    });
}
