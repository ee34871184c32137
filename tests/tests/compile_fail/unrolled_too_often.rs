//! Loops that would be unrolled to a million iterations.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let mut h = x;
        for _ in 0..1_000 {
            for i in 0..1_000 {
         //~^^^ limit
                h = h + i;
            }
        }
        mean(h)
    });
}
