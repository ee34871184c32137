//! `reshape2`: elements are dense, so only the layout of the output differs.

use crate::reference::call::Call;
use crate::reference::values::Values;

pub(super) fn reshape(call: &Call<'_>) -> Values {
    call.read(0)
}
