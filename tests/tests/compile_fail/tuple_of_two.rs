//! A pattern with fewer names than the tuple has parts.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let (a, b) = (fc(x, 1), y, y);
        //~ ^^^^^^ tuple
        mean(a - b)
    });
}
