//! A name in one of several alternatives.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        match 3 {
            1 | n => fc(x, 1),
            //~ ^ not-of-the-language
            _ => fc(x, 2),
        }
    });
}
