//! `store`.

use crate::reference::call::Call;
use crate::reference::values::Values;

/// What the parameter becomes.
pub(super) fn store(call: &Call<'_>) -> Values {
    call.read(1)
}
