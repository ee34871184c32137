//! Rules for constants that take their shape from other values, and for shapes as values.

use crate::convert::draft::Known;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::ours::constants::{constant_of_type, fill_value};
use crate::convert::types::{dtype, is_small_product, product};
use crate::ops::{Binary, BinaryKind, Cast, Compare, CompareKind, Fill, Reshape};
use crate::program::{DType, Dim, Type, VarId};
use crate::wire::VarKind;

impl Reading<'_, '_> {
    /// The element type in attribute `dtype`, where -1 stands for that of the value. `None` if it is not one of ours.
    fn dtype_like(&self, x: VarId) -> Result<Option<DType>, Fault> {
        match self.desc.attr_int("dtype")?.unwrap_or(-1) {
            -1 => Ok(Some(self.ty(x).dtype)),
            kind => Ok(VarKind::try_from(kind).ok().and_then(dtype)),
        }
    }

    /// A constant with the shape of `X`: `value`, or 0.
    pub(super) fn fill_like(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let Some(dtype) = self.dtype_like(x)? else { return Ok(false) };
        let (value, ty) = (fill_value(self.desc, dtype)?, self.ty(x).with_dtype(dtype));
        self.out(Fill { value, ty }, &[])
    }

    /// A constant whose shape or value is an input.
    pub(super) fn constant_of_values(&mut self) -> Result<bool, ConvertError> {
        let kind = self.desc.attr_int("dtype")?.unwrap_or(VarKind::Fp32.into());
        let dtype = VarKind::try_from(kind).ok().and_then(dtype);
        let dims = self.dims("shape", "ShapeTensor", "ShapeTensorList")?;
        let (Some(dtype), Some(dims)) = (dtype, dims) else { return Ok(false) };
        let ty = self.reader.draft.checked(self.type_of(dtype, dims))?;
        if !self.has(&["ValueTensor"]) {
            return self.out(constant_of_type(&self.reader.draft.program, self.desc, ty)?, &[]);
        }
        let value = self.scalar("ValueTensor", dtype)?;
        let zeros = self.emit(Fill::zeros(ty), &[])?;
        self.out(Binary { kind: BinaryKind::Add }, &[zeros, value])
    }

    /// The sizes of a value.
    pub(super) fn shape(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("Input")?;
        let dims = self.reader.draft.program.shape(self.ty(x));
        let shape = self.at().shape_value(&dims)?;
        self.out_value(shape)
    }

    /// The number of elements of a value.
    pub(super) fn number_of_elements(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("Input")?;
        let dims = self.reader.draft.program.shape(self.ty(x));
        if !is_small_product(&dims) {
            return Ok(false);
        }
        let count = product(&dims)?;
        let value = self.size_value(&count)?;
        let value = self.emit(Cast { dtype: DType::I64 }, &[value])?;
        self.out(Reshape { dims: Vec::new() }, &[value])?;
        self.know("Out", vec![count])
    }

    /// Whether a value has no elements.
    pub(super) fn is_empty(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let dims = self.reader.draft.program.shape(self.ty(x));
        if !is_small_product(&dims) {
            return Ok(false);
        }
        let count = self.size_value(&product(&dims)?)?;
        let count = self.emit(Reshape { dims: Vec::new() }, &[count])?;
        let none = self.emit(Fill::zeros(Type::scalar(DType::I32)), &[])?;
        self.out(Compare { kind: CompareKind::Equal }, &[count, none])
    }

    /// Notes the elements of the value in an output slot.
    fn know(&mut self, slot: &'static str, dims: Vec<Dim>) -> Result<bool, ConvertError> {
        let out = self.read(one(self.desc.output(slot), slot)?)?;
        self.reader.draft.known.insert(out, dims.into_iter().map(Known::of).collect());
        Ok(true)
    }

    /// A constant, or random numbers, of `shape`. One size is that of an axis of `Input`, or the number of its
    /// sequences.
    pub(super) fn constant_batch_size_like(&mut self) -> Result<bool, ConvertError> {
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
        let program = &self.reader.draft.program;
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
        let op = constant_of_type(&self.reader.draft.program, self.desc, self.reader.draft.checked(ty)?)?;
        self.out(op, &[])
    }
}
