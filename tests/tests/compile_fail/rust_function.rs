//! A function of Rust.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1);
        mean(std::cmp::max(price, y))
        //~  ^^^^^^^^^^^^^ rust-path
    });
}
