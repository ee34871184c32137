//! A value as another element type, by Rust's operator.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        mean((x > 0.0) as f32)
        //~  ^^^^^^^^^^^^^^^^ not-of-the-language
    });
}
