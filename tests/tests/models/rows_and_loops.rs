//! Rows that split, inside of loops that go on for all.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 1>, steps: Tensor<i64>| {
        let mut h = x;
        let mut count = 0.0 * x;
        let mut step = 0;
        while step < steps {
            if h > 1.0 {
                h /= 2.0;
            } else if h < -1.0 {
                h = -h;
                count += 1.0;
            }
            step += 1;
        }
        (h, count)
    });
    vec![crate::model(net)]
}
