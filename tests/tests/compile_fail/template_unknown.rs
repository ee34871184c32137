//! A name in braces that is not in scope.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let mut h = x;
        for depth in 0..3 {
            h = fc(h, 13 + depth, param = "block{dept}");
            //~                           ^^^^^^^^^^^^^ unknown-variable
        }
        mean(h)
    });
}
