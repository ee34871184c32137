//! Rules for operators on the diagonals of matrices. Diagonal `d` has the elements whose column is `d` more
//! than their row.

use crate::convert::draft::{MOST_POSITIONS, Tried, positions_of};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::types::dtype;
use crate::ops::compositions::triangle;
use crate::ops::{
    Assign, AssignValue, Compare, CompareKind, Fill, Gather, Number, Pad, Reduce, ReduceKind, Reshape, Scale,
    Select, Slice, Transpose,
};
use crate::program::{DType, Dim, Type, VarId};
use crate::wire::VarKind;

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
        let numbers = self.at().count_to(Dim::from(order))?;
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

    /// The diagonal of matrices that lie along any two axes, behind the other axes.
    pub(super) fn diagonals(&mut self) -> Result<bool, ConvertError> {
        let tried = self.diagonals_of("Input");
        self.tried(tried, "Out")
    }

    /// The sum of such a diagonal.
    pub(super) fn trace(&mut self) -> Result<bool, ConvertError> {
        let diagonal = match self.diagonals_of("Input")? {
            Ok(diagonal) => diagonal,
            Err(lack) => return self.lacks(lack),
        };
        let axes = vec![self.ty(diagonal).rank() as i64 - 1];
        self.out(Reduce { kind: ReduceKind::Sum, axes, keep_dim: false }, &[diagonal])
    }

    fn diagonals_of(&mut self, slot: &'static str) -> Tried {
        let x = self.input(slot)?;
        let of = |name, default| Ok::<_, Fault>(self.desc.attr_long(name)?.unwrap_or(default));
        let (offset, axes) = (of("offset", 0)?, [of("axis1", 0)?, of("axis2", 1)?]);
        let rank = self.ty(x).rank();
        let [Some(first), Some(second)] = axes.map(|axis| self.axis(x, axis)) else {
            return Ok(Err("it has no such axes"));
        };
        let rows = usize::from(self.ty(x).rows.is_some());
        if first == second || first < rows || second < rows {
            return Ok(Err("it is of the axis of the rows, or of one axis"));
        }
        let mut at = self.at();
        let (Some(tall), Some(wide)) = (at.constant_size(x, first), at.constant_size(x, second)) else {
            return Ok(Err("the sizes of its matrices are not known"));
        };
        let [below, right] = [offset.saturating_neg().max(0), offset.max(0)];
        let count = tall.saturating_sub(below).min(wide.saturating_sub(right));
        if count < 1 || tall.saturating_mul(wide) > MOST_POSITIONS {
            return Ok(Err("its diagonal has no elements, or its matrices are too large"));
        }
        let others = (0..rank).filter(|&axis| axis != first && axis != second);
        let perm: Vec<i64> = others.chain([first, second]).map(|axis| axis as i64).collect();
        let turned = at.permuted(x, &perm)?;
        let dims = at.ty(turned).dims.clone();
        let flat = [&dims[..dims.len() - 2], &[Dim::from(tall * wide)]].concat();
        let flat = at.shaped(turned, flat)?;
        let positions = (0..count).map(|k| (below + k) * wide + right + k).collect();
        at.picked(flat, rank as i64 - 2, positions).map(Ok)
    }

    /// Lists along the last axis as diagonals of matrices, along two axes of the result.
    pub(super) fn diagonals_of_lists(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("Input")?;
        let of = |name, default| Ok::<_, Fault>(self.desc.attr_long(name)?.unwrap_or(default));
        let (offset, axes) = (of("offset", 0)?, [of("dim1", -2)?, of("dim2", -1)?]);
        let rank = self.ty(x).rank();
        let axis = |axis: i64| usize::try_from(if axis < 0 { axis + rank as i64 + 1 } else { axis }).ok();
        let [Some(first), Some(second)] = axes.map(axis) else { return Ok(false) };
        let rows = usize::from(self.ty(x).rows.is_some());
        if first == second || first.max(second) > rank || first.min(second) < rows {
            return Ok(false);
        }
        let last = rank.saturating_sub(1);
        let Some(size) = self.at().constant_size(x, last) else {
            return self.lacks("the size of its lists is not known");
        };
        let Some(order) = size.checked_add(offset.saturating_abs()) else { return Ok(false) };
        if order.saturating_mul(order) > MOST_POSITIONS {
            return self.lacks("its matrices are too large");
        }
        let [below, right] = [(-offset).max(0), offset.max(0)];
        // All that is not on the diagonal is one 0, behind the list.
        let mut positions = vec![size; (order * order) as usize];
        for k in 0..size {
            positions[((below + k) * order + right + k) as usize] = k;
        }
        let mut paddings = vec![0; 2 * rank];
        paddings[2 * rank - 1] = 1;
        let mut list = positions_of(positions);
        list.ty = Type::new(DType::I64, [order, order]);
        let list = self.emit(list, &[])?;
        let padded = self.emit(Pad { paddings, pad_value: 0.0 }, &[x])?;
        let matrices = self.emit(Gather { axis: rank as i64 - 1 }, &[padded, list])?;
        // The two axes, which are the last, go to their places.
        let mut perm: Vec<Option<i64>> = vec![None; rank + 1];
        (perm[first], perm[second]) = (Some(rank as i64 - 1), Some(rank as i64));
        let mut others = 0..rank as i64 - 1;
        let perm = perm.into_iter().map(|axis| axis.or_else(|| others.next()).unwrap_or(0)).collect();
        self.out(Transpose { perm }, &[matrices])
    }

    /// The places of one triangle of a matrix, row by row: i64 `[2, n]`.
    pub(super) fn places_of_triangle(&mut self) -> Result<bool, ConvertError> {
        let desc = self.desc;
        let lower = desc.r#type == "tril_indices";
        let of = |name| Ok::<_, Fault>(desc.attr_long(name)?.unwrap_or(0));
        let (tall, offset) = (of(if lower { "rows" } else { "row" })?, of("offset")?);
        let wide = of(if lower { "cols" } else { "col" })?;
        let kind = desc.attr_int("dtype")?.unwrap_or(VarKind::Int64.into());
        let Some(dtype) = VarKind::try_from(kind).ok().and_then(dtype) else { return Ok(false) };
        if tall < 0 || wide < 0 || tall.saturating_mul(wide) > MOST_POSITIONS {
            return self.lacks("its matrix is too large");
        }
        let all = (0..tall).flat_map(|row| (0..wide).map(move |column| (row, column)));
        let is_inside = |&(row, column): &(i64, i64)| {
            let on = row.saturating_add(offset);
            if lower { column <= on } else { column >= on }
        };
        let (rows, columns): (Vec<i64>, Vec<i64>) = all.filter(is_inside).unzip();
        let ty = Type::new(dtype, [2, rows.len() as i64]);
        let values = rows.into_iter().chain(columns).map(Number::Int).collect();
        self.define(AssignValue { values, ty }, &[], &[], &[one(desc.output("out"), "out")?])
    }
}
