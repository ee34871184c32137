//! A text where a number is wanted.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        const MODE: &str = "train";
        mean(x + MODE)
        //~      ^^^^ not-of-the-language
    });
}
