//! A result without rows where rows split.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = if y > 0.0 {
            mean(fc(x, 1))
         //~^^^^^^^^^^^^^^ one-value
        } else {
            y
        };
        mean(price)
    });
}
