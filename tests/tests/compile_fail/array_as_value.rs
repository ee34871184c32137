//! An array that is no value, as its parts differ in size.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let weights = [[0.5], [0.5, 1.0]];
        mean(x * weights)
        //~      ^^^^^^^ tuple
    });
}
