//! From the wire: rules for constants in the shape of other values.

use super::constants::fill_value;
use super::error::{ConvertError, Fault};
use super::reading::Reading;
use super::types::dtype;
use crate::ops::Fill;
use crate::program::{DType, Dim, Type, VarId};
use crate::wire::VarKind;

impl Reading<'_, '_> {
    /// The element type in attribute `dtype`; -1 is that of the value. `None` if it is not one of ours.
    fn dtype_like(&self, x: VarId) -> Result<Option<DType>, Fault> {
        match self.desc.attr_int("dtype")?.unwrap_or(-1) {
            -1 => Ok(Some(self.ty(x).dtype)),
            kind => Ok(VarKind::try_from(kind).ok().and_then(dtype)),
        }
    }

    /// `value`, or 0, as often as `X` has elements.
    pub(super) fn fill_like(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let Some(dtype) = self.dtype_like(x)? else { return Ok(false) };
        let (value, ty) = (fill_value(self.desc, dtype)?, self.ty(x).with_dtype(dtype));
        self.out(Fill { value, ty }, &[])
    }

    /// A constant of `shape`, of which one size is that of an axis of `Input`. Of sequences, that is their number.
    pub(super) fn fill_batch_size_like(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("Input")?;
        let index = |name, among: usize| -> Result<usize, Fault> {
            let axis = self.desc.attr_int(name)?.unwrap_or(0);
            let axis = usize::try_from(axis).ok().filter(|&axis| axis < among);
            let message = format!("it has to be one of {among} axes");
            axis.ok_or(Fault::Attribute { attribute: name, message })
        };
        let shape = self.desc.attr_longs("shape")?.unwrap_or_default();
        let from = index("input_dim_idx", self.ty(x).rank())?;
        let to = index("output_dim_idx", shape.len())?;
        let Some(dtype) = self.dtype_like(x)? else { return Ok(false) };
        if shape.iter().enumerate().any(|(axis, &size)| size < 0 && axis != to) {
            return Ok(false);
        }
        let value = fill_value(self.desc, dtype)?;
        let program = &self.reader.program;
        let of = program.ty(x);
        let of_rows = of.rows.filter(|_| from == 0);
        let rows = of_rows.map(|rows| program.rows_of_sequences(rows).unwrap_or(rows));
        let mut dims: Vec<Dim> = shape.into_iter().map(Dim::from).collect();
        let ty = match rows {
            Some(rows) if to == 0 => Type { dtype, rows: Some(rows), dims: dims.split_off(1) },
            rows => {
                dims[to] = match rows {
                    Some(rows) => Dim::symbol(program.row_space(rows).size),
                    None => of.dims[from - usize::from(of.rows.is_some())].clone(),
                };
                Type { dtype, rows: None, dims }
            }
        };
        self.out(Fill { value, ty: self.reader.checked(ty)? }, &[])
    }
}
