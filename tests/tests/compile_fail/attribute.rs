//! An attribute in a body.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        #[inline]
     //~^^^^^^^^^ not-of-the-language
        let price = fc(x, 1);
        mean(price)
    });
}
