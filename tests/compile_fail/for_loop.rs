//! `for`, which is for a later version.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let mut h = fc(x, 1);
        for i in 0..3 {
      //^^^ not-supported
            h = h + i;
        }
        mean(h - y)
    });
}
