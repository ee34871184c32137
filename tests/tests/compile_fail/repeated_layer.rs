//! A layer in an unrolled loop that does not say whether its parameters are shared.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let mut h = x;
        for _ in 0..3 {
            h = fc(h, 13, act = relu);
            //~ ^^^^^^^^^^^^^^^^^^^^^ repeated-parameters
        }
        mean(h)
    });
}
