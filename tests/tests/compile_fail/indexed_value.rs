//! An element of a value of the network.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        mean(x[0])
        //~  ^ static
    });
}
