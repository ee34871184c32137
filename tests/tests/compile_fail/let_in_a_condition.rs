//! What a condition of Rust binds is one mistake, also where it is used.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 1>| {
        if let Some(y) = x { y } else { x }
        //~^^^^^^^^^^^^^^^ not-of-the-language
    });
}
