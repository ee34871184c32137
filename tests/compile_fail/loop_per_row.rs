//! A `while` per row, which is for a later version.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let mut h = y;
        while h < 0.0 {
        //~   ^^^^^^^ not-supported
            h = h + fc(x, 1);
        }
        mean(h)
    });
}
