//! Sub-networks that call others so often that compiling would not end.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let a = |x| x + 1.0;
        let b = |x| a(a(a(a(a(a(a(a(a(a(x))))))))));
        let c = |x| b(b(b(b(b(b(b(b(b(b(x))))))))));
        let d = |x| c(c(c(c(c(c(c(c(c(c(x))))))))));
        let e = |x| d(d(d(d(d(d(d(d(d(d(x))))))))));
        //~         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ limit
        mean(e(e(x)))
    });
}
