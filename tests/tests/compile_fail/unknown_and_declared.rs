//! A dimension that an argument in error would name is no mistake of its own.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>, y: Tensor<f32, _, 4>| {
        let wide = |v: Tensor<f32, _, D>| fc(v, 2 * D);
        wide(x + y)
        //~      ^ shape
    });
}
