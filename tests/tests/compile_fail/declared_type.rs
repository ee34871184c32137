//! A value that is not of its declared type.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price: Tensor<f32, _, 2> = fc(x, 1);
        //~                            ^^^^^^^^ declared-type
        mean(price - y)
    });
}
