//! `fill_constant`.

use paddle_core::ops::Fill;
use paddle_core::program::DType;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

impl Evaluate for Fill {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let count = call.output_shape(0).iter().product();
        let whole = || self.value.as_i64().expect("the shape rule wants a whole number here");
        let out = match call.output_dtype(0) {
            DType::Bool => Values::Bool(vec![whole() != 0; count]),
            DType::I32 => {
                Values::I32(vec![i32::try_from(whole()).expect("the shape rule checks the range"); count])
            }
            DType::I64 => Values::I64(vec![whole(); count]),
            dtype @ (DType::F32 | DType::F64) => Values::round(dtype, vec![self.value.as_f64(); count]),
        };
        Ok(vec![out])
    }
}
