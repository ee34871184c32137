//! A loop over numbers whose values are collected, and that rows leave in the middle.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _>| {
        let mut y = x;
        let z = for i in 0..3 {
            //~ ^^^ not-supported
            y *= 2.0;
            if y > 5.0 {
                break;
            }
            y + i
        };
        z
    });
}
