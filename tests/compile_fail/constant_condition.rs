//! A condition that is known when the network is compiled.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = if true { fc(x, 1) } else { y };
        //             ^^^^ not-supported
        mean(price - y)
    });
}
