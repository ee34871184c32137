//! `store`.

use paddle_core::ops::Store;
use paddle_core::plan::Unsupported;

use super::Compile;
use super::reshape::copy;
use crate::cpu::kernel::{Compiled, Single};

impl Compile for Store {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        copy(single, single.input(1)?, single.input(0)?)
    }
}
