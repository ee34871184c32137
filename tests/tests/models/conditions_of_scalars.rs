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
    let ones = network!(|x: Tensor<f32, _, 4>| {
        let mut h = parameter([1], param = "h", init = constant(0.5));
        while h < 3.0 {
            h = 2.0 * h + 0.1;
        }
        let sign = if h > 4.0 { -h } else { h };
        sign * x
    });
    vec![crate::model(net), crate::model(ones)]
}
