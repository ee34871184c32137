//! The rule for `einsum`.

use crate::convert::from_wire::{ConvertError, Reading};

impl Reading<'_, '_> {
    pub(super) fn einsum(&mut self) -> Result<bool, ConvertError> {
        let operands = self.inputs("Operands")?;
        let equation = self.desc.attr_string("equation")?.unwrap_or("");
        match self.at().einsum(equation, &operands)? {
            Ok(out) => self.out_value(out),
            Err(lack) => self.lacks(lack),
        }
    }
}
