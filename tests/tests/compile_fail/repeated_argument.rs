//! A named argument given twice.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1, act = relu, act = tanh);
        //~                              ^^^ repeated-argument
        mean(square(price - y))
    });
}
