//! `store`.

use super::call::Call;
use super::values::Values;

/// What the parameter becomes.
pub(super) fn store(call: &Call<'_>) -> Values {
    call.read(1)
}
