//! A text compared with a number.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        const MODE: &str = "train";
        if MODE == 3 { mean(x) } else { sum(x) }
        //~^^^^ not-of-the-language
    });
}
