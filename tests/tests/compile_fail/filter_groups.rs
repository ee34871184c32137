//! Channels or filters that do not go up in groups.

fn main() {
    let _channels = paddle::network!(|x: Tensor<f32, _, 6, 8, 8>| {
        conv2d(x, 8, 3, groups = 4)
        //~                      ^ constant
    });
    let _filters = paddle::network!(|x: Tensor<f32, _, 6, 8, 8>| {
        conv2d_transpose(x, 4, 3, groups = 3)
        //~                                ^ constant
    });
}
