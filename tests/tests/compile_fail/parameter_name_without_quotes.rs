//! A name for parameters has quotes.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 3>| {
        fc(x, 8, param = D)
        //~              ^ unknown-variable
    });
}
