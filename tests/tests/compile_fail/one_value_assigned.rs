//! A variable without rows, assigned where rows split.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let mut sum = mean(y);
        if y > 0.0 {
            sum = sum + 1.0;
            //~   ^^^^^^^^^ one-value
        }
        sum + mean(x)
    });
}
