//! `if` on a scalar, chains of `else if`, and truth values that are computed.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(|x: Tensor<f32, _, 4>, mode: Tensor<i64>, on: Tensor<bool>| {
        let wide = mode > 3 && on || !(mode == 1);
        let h = if wide {
            fc(x, 4, param = "wide")
        } else if mode < 0 {
            x
        } else {
            -x
        };
        let (low, high) = if on { (h, 1.0) } else { (x, 2.0) };
        mean(low) / high
    });
    vec![crate::model(net)]
}
