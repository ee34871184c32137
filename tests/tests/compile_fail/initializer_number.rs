//! What an initialiser takes are numbers.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        fc(x, 8, init = normal(0.0, x))
        //~                         ^ argument-kind
    });
}
