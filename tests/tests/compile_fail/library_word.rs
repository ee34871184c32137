//! A word that the layer inside a layer of the library does not allow.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 1, 8, 8>| {
        let pooled = simple_img_conv_pool(x, 4, 3, 2, 2, pool_kind = mean);
        //~          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ argument-kind
        pooled
    });
}
