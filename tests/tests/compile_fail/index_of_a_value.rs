//! An index that is a value of the network.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, n: Tensor<i64>| {
        let sizes = [64, 128];
        fc(x, sizes[n])
        //~         ^ static
    });
}
