//! `store`.

use paddle_core::plan::Unsupported;

use super::kernel::{Compiled, Single};
use super::reshape::copy;

pub(super) fn compile(single: &Single<'_>) -> Result<Compiled, Unsupported> {
    copy(single, single.input(1)?, single.input(0)?)
}
