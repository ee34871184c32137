//! Numbers adapt to the element type of what they stand beside.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    let net = network!(
        |single: Tensor<f32, _, 2>, double: Tensor<f64, _, 2>, id: Tensor<i64, _, 2>, short: Tensor<i32, _, 2>| {
            const RATE: f64 = 0.5;
            const STEP: i32 = 3;
            let single = 2 * single - 1;
            let double = double * RATE + 1;
            let id = (id + 1) % 7;
            let short = short * STEP - 2i32;
            (single, double, id, short, id > 3)
        }
    );
    vec![crate::model(net)]
}
