//! `assign`.

use super::call::Call;
use super::values::Values;

pub(super) fn assign(call: &Call<'_>) -> Values {
    call.read(0)
}
