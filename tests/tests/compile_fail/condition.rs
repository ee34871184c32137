//! A condition that is not a truth value.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = if y { fc(x, 1) } else { y };
        //~            ^ condition
        mean(price)
    });
}
