//! `assign`.

use crate::reference::call::Call;
use crate::reference::values::Values;

pub(super) fn assign(call: &Call<'_>) -> Values {
    call.read(0)
}
