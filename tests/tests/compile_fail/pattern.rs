//! A pattern that the language does not have; its names are no mistakes of their own.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let [a, b] = x;
        //~ ^^^^^^ not-of-the-language
        a + b
    });
}
