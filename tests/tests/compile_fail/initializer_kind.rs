//! A number where an initialiser is wanted.

fn main() {
    let _cost = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1, init = 0.5);
        //~                         ^^^ argument-kind
        mean(square(price - y))
    });
}
