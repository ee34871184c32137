//! A call of a layer of the library that does not fit what it does.

fn main() {
    let _cost = paddle::network!(|x: Tensor<f32, _, 4>, y: Tensor<f32, _, 1>| {
        mean(square_error_cost(fc(x, 3), fc(y, 2)))
        //~  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shape
    });
}
