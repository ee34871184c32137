//! `break` in a loop that is unrolled.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let mut h = x;
        for i in 0..3 {
            h = h + i;
            if i == 1 {
                break;
             //~^^^^^ not-supported
            }
        }
        mean(h)
    });
}
