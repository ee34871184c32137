//! `fill_constant`.

use paddle_core::ops::Number;
use paddle_core::program::DType;

use crate::reference::call::Call;
use crate::reference::values::Values;

pub(super) fn fill(value: Number, call: &Call<'_>) -> Values {
    let count = call.output_shape(0).iter().product();
    let whole = || value.as_i64().expect("the shape rule wants a whole number here");
    match call.output_dtype(0) {
        DType::Bool => Values::Bool(vec![whole() != 0; count]),
        DType::I32 => {
            Values::I32(vec![i32::try_from(whole()).expect("the shape rule checks the range"); count])
        }
        DType::I64 => Values::I64(vec![whole(); count]),
        dtype @ (DType::F32 | DType::F64) => Values::round(dtype, vec![value.as_f64(); count]),
    }
}
