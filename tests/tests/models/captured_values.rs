//! Closures capture values, as they are where they are defined; closures in closures.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 4>, rate: Tensor<f32>| {
        const TIMES: usize = 2;
        let mut scale = rate;
        let scaled = |value| value * scale;
        scale *= 2.0;
        let deep = |value| {
            let again = |value| scaled(value) + scale;
            let mut h = value;
            for _ in 0..TIMES {
                h = again(h);
            }
            h
        };
        deep(x) - scaled(x)
    });
    vec![crate::model(net)]
}
