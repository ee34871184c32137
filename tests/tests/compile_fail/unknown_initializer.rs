//! A name of an initialiser that is misspelt.

fn main() {
    let _cost = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1, init = unifrom(-0.1, 0.1));
        //~                         ^^^^^^^ unknown-initializer
        mean(square(price - y))
    });
}
