//! A `match` none of whose arms fits.

fn main() {
    let _net = paddle::network!(|x: Tensor<f32, _, 13>| {
        const LAYERS: usize = 5;
        match LAYERS {
           //~^^^^^^ no-arm
            1 | 2 => fc(x, 1),
            3..=4 => fc(x, 2),
        }
    });
}
