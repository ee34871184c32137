//! Windows that do not move.

fn main() {
    let _filters = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        conv2d(x, 4, 3, stride = 0)
        //~                      ^ argument-kind
    });
    let _windows = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        pool2d(x, 2, stride = [2, 0])
        //~                       ^ argument-kind
    });
    let _places = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        adaptive_pool2d(x, 0)
        //~                ^ argument-kind
    });
}
