//! A condition with several truth values per row.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = if x > 0.0 { fc(x, 1) } else { y };
        //~            ^^^^^^^ condition
        mean(price)
    });
}
