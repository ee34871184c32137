//! A word in quotes.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        fc(x, 8, act = "relu")
        //~            ^^^^^^ argument-kind
    });
}
