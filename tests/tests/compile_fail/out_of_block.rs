//! A variable behind the end of its block.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        if y > 0.0 {
            let price = fc(x, 1);
            let _ = mean(price);
        }
        mean(price)
        //~  ^^^^^ out-of-block
    });
}
