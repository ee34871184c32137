//! A range up to a value of the network.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, n: Tensor<i64>| {
        let mut h = fc(x, 1);
        for i in 0..n {
            //~     ^ static
            h = h + i;
        }
        mean(h)
    });
}
