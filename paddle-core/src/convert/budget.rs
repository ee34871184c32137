//! The memory that a program may take while it is read, which does not depend on what the file says.

use super::error::Fault;
use super::types::dim_text;
use crate::program::Type;

/// The approximate memory in bytes that the values of one program may take. A few bytes can ask for many values: each
/// loop of a nest has the state of the innermost one.
pub(super) const MEMORY: usize = 256 << 20;

/// The approximate size of a value in bytes, without its name and symbolic sizes.
pub(super) const VALUE: usize = 200;

/// The memory that is left for values, in bytes.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Budget(bytes)
    }

    /// Subtracts so many bytes.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Fault> {
        self.0 = self.0.checked_sub(bytes).ok_or(Fault::Memory)?;
        Ok(())
    }

    /// Subtracts the memory of a value.
    pub(super) fn charge(&mut self, name: &str, ty: &Type) -> Result<(), Fault> {
        let symbolic = ty.dims.iter().filter(|dim| dim.constant().is_none());
        self.spend(VALUE + 2 * name.len() + symbolic.map(|dim| 16 * dim_text(dim).len()).sum::<usize>())
    }
}
