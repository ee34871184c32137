//! An attribute of an expression, which would have no effect.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        let h = match 1 {
            #[inline]
         //~^^^^^^^^^ not-of-the-language
            1 => fc(x, 1),
            _ => x,
        };
        mean(
            #[rustfmt::skip]
         //~^^^^^^^^^^^^^^^^ not-of-the-language
            h,
        )
    });
}
