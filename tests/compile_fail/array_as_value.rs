//! An array where one value is wanted.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let weights = [0.5, 0.5];
        mean(x * weights)
        //~      ^^^^^^^ tuple
    });
}
