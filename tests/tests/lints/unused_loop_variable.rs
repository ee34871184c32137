//! The variable of a `for` that nothing reads.
#![deny(warnings)]

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let mut h = x;
        for i in 0..3 {
         //~^ rustc
            h = fc(h, 13, param = "shared");
        }
        mean(h)
    });
}
