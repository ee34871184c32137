//! Rules for operators on the diagonals of matrices. Diagonal `d` has the elements whose column is `d` more
//! than their row.

use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::ops::compositions::triangle;
use crate::ops::{Assign, Compare, CompareKind, Fill, Number, Pad, Range, Reshape, Scale, Select, Slice};
use crate::program::{DType, Dim, Type, VarId};

impl Reading<'_, '_> {
    /// Keeps a diagonal and what is on one side of it.
    pub(super) fn triangle(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let (lower, diagonal) = (self.bool("lower", true)?, self.desc.attr_int("diagonal")?.unwrap_or(0));
        let ty = self.ty(x).clone();
        let out = triangle((x, &ty), lower, diagonal.into(), |op, inputs| self.emit(op, inputs))?;
        out.map_or(Ok(false), |out| self.out(Assign, &[out]))
    }

    /// Makes a diagonal of a list, or a list of a diagonal.
    pub(super) fn diagonal(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let offset = self.desc.attr_long("offset")?.unwrap_or(0);
        let ty = self.ty(x).clone();
        let sizes: Option<Vec<i64>> = ty.dims.iter().map(Dim::constant).collect();
        match (ty.rows, sizes.as_deref()) {
            (None, Some(&[size])) => self.matrix_of(x, size, offset),
            (None, Some(&[rows, columns])) => self.list_of(x, [rows, columns], offset),
            _ => Ok(false),
        }
    }

    fn matrix_of(&mut self, x: VarId, size: i64, offset: i64) -> Result<bool, ConvertError> {
        let dtype = self.ty(x).dtype;
        let Some(order) = size.checked_add(offset.saturating_abs()) else { return Ok(false) };
        let elements = Pad { paddings: vec![0, order - size], pad_value: 0.0 };
        let elements = self.emit(elements, &[x])?;
        // The index of an element is that of its row or column, whichever starts at 0.
        let (column, row) = ([1, order], [order, 1]);
        let numbers = self.numbers_up_to(order)?;
        let further = Scale { scale: 1.0, bias: offset.saturating_abs() as f64 };
        let further = self.emit(further, &[numbers])?;
        let (near, far) = if offset < 0 { (column, row) } else { (row, column) };
        let [elements, further, numbers] = [(elements, near), (further, near), (numbers, far)]
            .map(|(value, dims)| self.emit(Reshape { dims: dims.map(Dim::from).into() }, &[value]));
        let on = self.emit(Compare { kind: CompareKind::Equal }, &[further?, numbers?])?;
        let padding = f64::from(self.desc.attr_float("padding_value")?.unwrap_or(0.0));
        let value = if dtype.is_float() { Number::Float(padding) } else { Number::Int(padding as i64) };
        let off = self.emit(Fill { value, ty: Type::scalar(dtype) }, &[])?;
        self.out(Select, &[on, elements?, off])
    }

    fn list_of(&mut self, x: VarId, [rows, columns]: [i64; 2], offset: i64) -> Result<bool, ConvertError> {
        let [below, right] = [(-offset).max(0), offset.max(0)];
        let count = (rows - below).min(columns - right);
        let Some(elements) = rows.checked_mul(columns).filter(|_| count > 0) else { return Ok(false) };
        let list = self.emit(Reshape { dims: vec![Dim::from(elements)] }, &[x])?;
        // The stride goes one row down and one column to the right.
        let (start, stride) = (below * columns + right, columns + 1);
        let part = Slice {
            axes: vec![0],
            starts: vec![start],
            ends: vec![start + count * stride],
            strides: vec![stride],
        };
        self.out(part, &[list])
    }

    /// The list 0, 1, 2, ….
    fn numbers_up_to(&mut self, count: i64) -> Result<VarId, Fault> {
        let ty = Type::new(DType::I64, [count]);
        self.emit(Range { start: Number::Int(0), step: Number::Int(1), ty }, &[])
    }
}
