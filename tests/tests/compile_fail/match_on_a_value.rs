//! A `match` on a value of the network.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let h = match y {
            //~       ^ static
            _ => fc(x, 1),
        };
        mean(h - y)
    });
}
