//! A name that is none once it is filled in.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        const RATE: f32 = 0.5;
        mean(fc(x, 1, param = "rate{RATE}"))
        //~                   ^^^^^^^^^^^^ parameter-name
    });
}
