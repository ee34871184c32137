//! Shapes that do not fit, on some of the rows.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = if y > 0.0 { fc(x, 2) - x } else { fc(y, 2) };
        //~                                 ^ shape
        mean(price)
    });
}
