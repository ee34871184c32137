//! A tap of a value that is there once per iteration.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, n: Tensor<i64>| {
        let (mut h, mut i) = (x, 0);
        while i < n {
            h = tap(tanh(h), "step");
            //~     ^^^^^^^ constant
            i += 1;
        }
        mean(h)
    });
}
