//! A range that is too long to be unrolled.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let mut h = x;
        for i in 0..=1_000_000 {
            //~  ^^^^^^^^^^^^^ limit
            h = h + i;
        }
        mean(h)
    });
}
