//! An initialiser with an argument too few.

fn main() {
    let _cost = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1, init = normal(0.0));
        //~                               ^^^^^ argument-count
        mean(square(price - y))
    });
}
