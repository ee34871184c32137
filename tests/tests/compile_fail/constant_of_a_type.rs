//! A number whose type is written, beside another one.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        const RATE: f64 = 0.5;
        mean(fc(x, 1) - y * RATE)
        //~                 ^^^^ element-type
    });
}
