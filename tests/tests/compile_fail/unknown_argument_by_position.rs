//! A positional argument, given by name.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1, size = 2);
        //~                  ^^^^ unknown-argument
        mean(square(price - y))
    });
}
