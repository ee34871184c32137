//! A value that depends on a constant, without the other case.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        const DEEP: bool = false;
        let h = if DEEP {
            fc(x, 13)
         //~^^^^^^^^^ no-else
        };
        mean(h)
    });
}
