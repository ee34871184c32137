//! `match`, which is for a later version.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let h = match x {
        //      ^^^^^ not-supported
            _ => fc(x, 1),
        };
        mean(h - y)
    });
}
