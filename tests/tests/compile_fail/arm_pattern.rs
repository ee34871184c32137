//! A pattern that the language does not have.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        match 3 {
            n @ 1..=3 => fc(x, n),
         //~^^^^^^^^^ not-of-the-language
            _ => fc(x, 2),
        }
    });
}
