//! `row_numbers`.

use crate::reference::call::Call;
use crate::reference::values::Values;

pub(super) fn row_numbers(call: &Call<'_>) -> Values {
    Values::I64((0..call.output_shape(0)[0] as i64).collect())
}
