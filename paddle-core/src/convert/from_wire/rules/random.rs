//! Rules for random numbers that are made from uniform ones.

use crate::convert::from_wire::{ConvertError, Reading};
use crate::convert::types::dtype;
use crate::ops::{Cast, Compare, CompareKind, Scale, TopK, UniformRandom};
use crate::program::{DType, Type};
use crate::wire::VarKind;

/// Uniform numbers on `[0, size)`.
fn uniform(size: f64, ty: Type) -> UniformRandom {
    UniformRandom { min: 0.0, max: size, fan: None, path: String::new(), ty }
}

impl Reading<'_, '_> {
    /// Each element of the result is 1 with the probability in `X`, otherwise 0.
    pub(super) fn bernoulli(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let ty = self.ty(x).clone();
        if !ty.dtype.is_float() {
            return Ok(false);
        }
        let dtype = ty.dtype;
        let drawn = self.emit(uniform(1.0, ty), &[])?;
        let hit = self.emit(Compare { kind: CompareKind::LessThan }, &[drawn, x])?;
        self.out(Cast { dtype }, &[hit])
    }

    /// Integers from `low` to below `high`: uniform numbers, rounded down.
    pub(super) fn randint(&mut self) -> Result<bool, ConvertError> {
        let low = self.desc.attr_long("low")?.unwrap_or(0);
        let high = self.desc.attr_long("high")?.unwrap_or(0);
        let Some(dims) = self.dims("shape", "ShapeTensor", "ShapeTensorList")? else { return Ok(false) };
        let Some(dtype) = self.whole()?.filter(|_| low < high) else { return Ok(false) };
        let ty = self.reader.draft.checked(self.type_of(DType::F64, dims))?;
        let drawn = self.emit(uniform((high - low) as f64, ty), &[])?;
        let whole = self.emit(Cast { dtype }, &[drawn])?;
        self.out(Scale { scale: 1.0, bias: low as f64 }, &[whole])
    }

    /// The numbers from 0 to below `n`, in the order that sorts as many uniform numbers.
    pub(super) fn randperm(&mut self) -> Result<bool, ConvertError> {
        let count = self.desc.attr_long("n")?.unwrap_or(0);
        let Some(dtype) = self.whole()?.filter(|_| count > 0) else { return Ok(false) };
        let drawn = self.emit(uniform(1.0, Type::new(DType::F64, [count])), &[])?;
        let order = self.emit_all(TopK { k: None, axis: 0, largest: false }, &[drawn], 2)?;
        self.out(Cast { dtype }, &order[1..])
    }

    /// The integer type in attribute `dtype`; i64 if it is left out. `None` for other types.
    fn whole(&self) -> Result<Option<DType>, ConvertError> {
        let kind = self.desc.attr_int("dtype")?.unwrap_or(VarKind::Int64.into());
        let dtype = VarKind::try_from(kind).ok().and_then(dtype);
        Ok(dtype.filter(|dtype| matches!(dtype, DType::I32 | DType::I64)))
    }
}
