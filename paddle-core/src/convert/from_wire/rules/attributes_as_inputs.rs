//! Rules for operators with inputs that are attributes of ours.

use crate::convert::derived::float;
use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::ops::{Binary, BinaryKind, Fill, Number, Scale};
use crate::program::{Type, VarId};

impl Reading<'_, '_> {
    /// The number in a slot, or the one in an attribute if the slot is empty.
    fn number_in(&mut self, slot: &'static str, attribute: &str, like: VarId) -> Result<VarId, Fault> {
        let dtype = self.ty(like).dtype;
        if self.has(&[slot]) {
            return self.scalar(slot, dtype);
        }
        let value = Number::Float(float(self.desc, attribute)?.unwrap_or(0.0));
        self.emit(Fill { value, ty: Type::scalar(dtype) }, &[])
    }

    /// The bounds may be inputs.
    pub(super) fn clip(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        if !self.has(&["Min", "Max"]) || !self.ty(x).dtype.is_float() {
            return self.formula();
        }
        let (low, high) = (self.number_in("Min", "min", x)?, self.number_in("Max", "max", x)?);
        let raised = self.emit(Binary { kind: BinaryKind::Max }, &[x, low])?;
        self.out(Binary { kind: BinaryKind::Min }, &[raised, high])
    }

    /// The exponent may be an input.
    pub(super) fn power(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        if !self.has(&["FactorTensor"]) {
            return self.formula();
        }
        let factor = self.scalar("FactorTensor", self.ty(x).dtype)?;
        self.out(Binary { kind: BinaryKind::Pow }, &[x, factor])
    }

    /// The factor is an input. The bias may be added before the multiplication.
    pub(super) fn scale_by_value(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let factor = self.scalar("ScaleTensor", self.ty(x).dtype)?;
        let bias = Scale { scale: 1.0, ..self.attributes_of()? };
        let product = Binary { kind: BinaryKind::Mul };
        if self.bool("bias_after_scale", true)? {
            let product = self.emit(product, &[x, factor])?;
            return self.out(bias, &[product]);
        }
        let sum = self.emit(bias, &[x])?;
        self.out(product, &[sum, factor])
    }
}
