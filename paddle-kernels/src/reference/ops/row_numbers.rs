//! `row_numbers`.

use paddle_core::ops::RowNumbers;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

impl Evaluate for RowNumbers {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(vec![Values::I64((0..call.output_shape(0)[0] as i64).collect())])
    }
}
