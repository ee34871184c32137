//! Attributes that PaddlePaddle takes from inputs, whose values are known while a program is read.

use super::Reading;
use crate::convert::draft::Known;
use crate::convert::error::Fault;
use crate::program::Dim;

impl Reading<'_, '_> {
    /// The only whole number of a constant in an input slot.
    pub(super) fn constant_int(&self, slot: &'static str) -> Result<Option<i64>, Fault> {
        let numbers = self.constant_of(self.input(slot)?);
        Ok(numbers.and_then(|numbers| if let [one] = numbers[..] { one.as_i64() } else { None }))
    }

    /// Whole numbers from an attribute, or from values in one of two slots; `None` if they are not known.
    pub(super) fn dims(&self, name: &str, slot: &str, list: &str) -> Result<Option<Vec<Dim>>, Fault> {
        let [tensor, list] = [self.inputs(slot)?, self.inputs(list)?];
        if tensor.is_empty() && list.is_empty() {
            let numbers = self.desc.attr_longs(name)?.unwrap_or_default();
            return Ok(Some(numbers.into_iter().map(Dim::from).collect()));
        }
        let vars = if tensor.is_empty() { list } else { tensor };
        let known: Option<Vec<&[Known]>> = vars.into_iter().map(|var| self.known(var)).collect();
        Ok(known.and_then(|known| known.concat().iter().map(Known::dim).collect()))
    }

    /// Whole numbers like those of [`Self::dims`], if all of them are numbers.
    pub(super) fn numbers(&self, name: &str, slot: &str, list: &str) -> Result<Option<Vec<i64>>, Fault> {
        let dims = self.dims(name, slot, list)?;
        Ok(dims.and_then(|dims| dims.iter().map(Dim::constant).collect()))
    }
}
