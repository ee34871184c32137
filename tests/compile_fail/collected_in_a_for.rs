//! A value of each iteration.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        for i in 0..3 {
            x * i
         //~^^^^^ not-supported
        }
        mean(x)
    });
}
