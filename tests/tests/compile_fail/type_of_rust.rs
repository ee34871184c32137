//! A type of Rust.

fn main() {
    let _net = paddle::network!(|x: Vec<f32>| mean(fc(x, 1)));
    //~                             ^^^^^^^^ type-syntax
}
