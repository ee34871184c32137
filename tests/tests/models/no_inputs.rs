//! Networks of few inputs: none, one number, numbers that stand beside rows.

use paddle::{attribute, network};

/// The same in the other form.
#[attribute::network]
pub mod constant {
    pub fn nothing() -> Tensor<f32> {
        0.5
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let none = network!(|| {
        let (mut power, mut i) = (1.0, 0);
        while i < 10 {
            power *= 2.0;
            i += 1;
        }
        power
    });
    let one = network!(|celsius: Tensor<f64>| celsius * 1.8 + 32.0);
    let beside = network!(|scale: Tensor<f32, 1>, shift: Tensor<f32>, x: Tensor<f32, _, 3>| x * scale + shift);
    vec![crate::model(none), crate::model(one), crate::model(beside), crate::model(constant::nothing())]
}
