//! `store`.

use paddle_core::plan::Unsupported;

use super::reshape::copy;
use crate::cpu::kernel::{Compiled, Single};

pub(super) fn compile(single: &Single<'_>) -> Result<Compiled, Unsupported> {
    copy(single, single.input(1)?, single.input(0)?)
}
