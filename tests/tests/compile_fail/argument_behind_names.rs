//! Arguments by position behind those by name: one mistake.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        fc(act = relu, x, 8)
        //~            ^ not-of-the-language
    });
}
