//! A named argument that a layer does not have.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1, parma = "price");
        //~                  ^^^^^ unknown-argument
        mean(square(price - y))
    });
}
