//! A value on some of the rows only.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = if y > 0.0 {
            fc(x, 1)
         //~^^^^^^^^ no-else
        };
        mean(price)
    });
}
