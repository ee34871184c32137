//! A closure as an argument.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let twice = |f, x| f + x;
        mean(twice(|x| tanh(x), x))
        //~        ^^^^^^^^^^^ not-supported
    });
}
