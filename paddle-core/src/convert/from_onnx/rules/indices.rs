//! Elements by their places.

use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::convert::types::{is_small_product, product};
use crate::ops::{
    Binary, BinaryKind, Cast, Compare, CompareKind, Concat, Fill, Gather, GatherNd, LookupTable, Number,
    OneHot, Scale, ScatterNdAdd, Select, TakeAlongAxis, Transpose,
};
use crate::program::{DType, Definition, Dim, VarId};

impl Node<'_, '_> {
    /// Indices, which count from the end if they are negative. Ours do not: where they are known, they are changed here.
    fn indices(&mut self, at: usize, size: &Dim) -> Result<VarId, Fault> {
        let index = self.input(at)?;
        let index = self.cast(index, DType::I64)?;
        let Some(numbers) = self.numbers(at) else { return Ok(index) };
        let numbers: Option<Vec<i64>> = numbers.into_iter().map(Number::as_i64).collect();
        let Some(numbers) = numbers.filter(|numbers| numbers.iter().any(|&number| number < 0)) else {
            return Ok(index);
        };
        let Some(size) = size.constant() else { return self.counted_from_start(index, size) };
        let ty = self.ty(index).clone();
        let counted =
            |number: i64| Number::Int(if number < 0 { number.saturating_add(size) } else { number });
        let values = numbers.into_iter().map(counted).collect();
        self.emit(crate::ops::AssignValue { values, ty }, &[])
    }

    /// The indices, where those below 0 have been counted from the end of an axis of this size.
    fn counted_from_start(&mut self, index: VarId, size: &Dim) -> Result<VarId, Fault> {
        let zero = self.fill(0.0, DType::I64)?;
        let is_below = self.emit(Compare { kind: CompareKind::LessThan }, &[index, zero])?;
        let counted = match size.constant() {
            Some(size) => self.emit(Scale { scale: 1.0, bias: size as f64 }, &[index])?,
            None => {
                let size = self.at().size_value(size)?;
                let size = self.cast(size, DType::I64)?;
                let size = self.reshaped(size, Vec::new())?;
                self.emit(Binary { kind: BinaryKind::Add }, &[index, size])?
            }
        };
        self.emit(Select, &[is_below, counted, index])
    }

    pub(super) fn gather(&mut self) -> Given {
        let x = self.input(0)?;
        let axis = self.axis(x, "axis", self.int("axis", 0))?;
        let size = self.shape(x)[axis].clone();
        let index = self.indices(1, &size)?;
        // Indices with rows choose from the rows' own elements in ours, from all in ONNX.
        if self.ty(index).rows.is_some() && (self.ty(x).rows.is_some() || axis > 0) {
            return self.lacks("its indices have rows");
        }
        let is_table = self.reader.draft.program.var(x).definition == Definition::Parameter;
        if is_table && axis == 0 && self.ty(x).dims.len() == 2 && self.ty(index).rows.is_some() {
            return self.give(LookupTable { padding_idx: -1 }, &[index, x]);
        }
        self.give(Gather { axis: axis as i64 }, &[x, index])
    }

    pub(super) fn gather_elements(&mut self) -> Given {
        let x = self.input(0)?;
        let axis = self.axis(x, "axis", self.int("axis", 0))?;
        let size = self.shape(x)[axis].clone();
        let index = self.indices(1, &size)?;
        self.give(TakeAlongAxis { axis: axis as i64 }, &[x, index])
    }

    pub(super) fn gather_parts(&mut self) -> Given {
        let x = self.input(0)?;
        if self.int("batch_dims", 0) != 0 {
            return self.lacks("it gathers from each of several batches");
        }
        let index = self.input(1)?;
        let index = self.cast(index, DType::I64)?;
        self.give(GatherNd, &[x, index])
    }

    /// The parts at positions, each of which there is once, become those of `updates`.
    pub(super) fn scatter_parts(&mut self) -> Given {
        let (x, index, updates) = (self.input(0)?, self.input(1)?, self.input(2)?);
        let index = self.cast(index, DType::I64)?;
        self.scattered(x, index, updates)
    }

    /// Each element at an index along an axis becomes that of `updates`.
    pub(super) fn scatter_elements(&mut self) -> Given {
        let (x, index, updates) = (self.input(0)?, self.input(1)?, self.input(2)?);
        if [x, index, updates].iter().any(|&var| self.rows(var) == 1) {
            return self.lacks("it goes along rows");
        }
        let axis = self.axis(x, "axis", self.int("axis", 0))?;
        let size = self.shape(x)[axis].clone();
        let index = self.cast(index, DType::I64)?;
        let index = self.counted_from_start(index, &size)?;
        let dims = self.ty(index).dims.clone();
        let mut places = Vec::with_capacity(dims.len());
        for at in 0..dims.len() {
            let place = if at == axis { index } else { self.numbers_along(&dims, at)? };
            places.push(self.reshaped(place, [&dims[..], &[Dim::from(1)]].concat())?);
        }
        let places = self.emit(Concat { axis: dims.len() as i64 }, &places)?;
        self.scattered(x, places, updates)
    }

    /// The number of each element along an axis of these dimensions.
    fn numbers_along(&mut self, dims: &[Dim], axis: usize) -> Result<VarId, Fault> {
        let numbers = self.at().count_to(dims[axis].clone())?;
        let mut alone = vec![Dim::from(1); dims.len()];
        alone[axis] = dims[axis].clone();
        let numbers = self.reshaped(numbers, alone)?;
        match self.at().expanded(numbers, dims)? {
            Some(all) => Ok(all),
            None => self.lacks("a size is 0"),
        }
    }

    /// The elements that a condition chooses, which is known.
    pub(super) fn compress(&mut self) -> Given {
        let mut x = self.input(0)?;
        let Some(chosen) = self.numbers(1) else {
            return self.lacks("its condition is computed while it runs, but has to be known before");
        };
        let mut axis = 0;
        match self.attr("axis").and_then(|attr| attr.i) {
            Some(given) => axis = self.axis(x, "axis", given)?,
            None if self.rows(x) == 0 && is_small_product(&self.ty(x).dims) => {
                let all = vec![product(&self.ty(x).dims)?];
                x = self.reshaped(x, all)?;
            }
            None => return self.lacks("it chooses among the elements of rows"),
        }
        let chosen =
            (0..).zip(chosen).filter(|(_, is)| *is == Number::Bool(true)).map(|(at, _)| at).collect();
        Ok(vec![self.at().picked(x, axis as i64, chosen)?])
    }

    fn scattered(&mut self, x: VarId, index: VarId, updates: VarId) -> Given {
        match self.text("reduction").unwrap_or("none") {
            "add" => return self.give(ScatterNdAdd, &[x, index, updates]),
            "none" => {}
            _ => return self.lacks("its `reduction` is neither `none` nor `add`"),
        }
        let (ty, of_updates) = (self.ty(x).clone(), self.ty(updates).clone());
        if ty.dtype == DType::Bool {
            return self.lacks("it replaces truth values");
        }
        let zeros = self.emit(Fill::zeros(ty.clone()), &[])?;
        let new = self.emit(ScatterNdAdd, &[zeros, index, updates])?;
        let ones = Fill { value: Number::Int(1), ty: of_updates.with_dtype(DType::I64) };
        let ones = self.emit(ones, &[])?;
        let none = self.emit(Fill::zeros(ty.with_dtype(DType::I64)), &[])?;
        let marks = self.emit(ScatterNdAdd, &[none, index, ones])?;
        let is_new = self.emit(Cast { dtype: DType::Bool }, &[marks])?;
        self.give(Select, &[is_new, new, x])
    }

    /// Two values say what is off and on.
    pub(super) fn one_hot(&mut self) -> Given {
        let ids = self.input(0)?;
        let ids = self.cast(ids, DType::I64)?;
        let depth = self.dims(1).and_then(|dims| <[Dim; 1]>::try_from(dims).ok());
        let (Some([depth]), Some(values)) = (depth, self.constant(2)) else {
            return self.lacks("its depth or values are computed while it runs, but have to be known before");
        };
        let (dtype, [off, on]) = match values.numbers()[..] {
            [off, on] => (values.ty.dtype, [off.as_f64(), on.as_f64()]),
            _ => return self.lacks("it has not two values"),
        };
        let ids = self.counted_from_start(ids, &depth)?;
        let number = if dtype == DType::Bool { DType::I32 } else { dtype };
        let mut hot = self.emit(OneHot { depth, dtype: number, allow_out_of_range: true }, &[ids])?;
        if (off, on) != (0.0, 1.0) {
            hot = self.emit(Scale { scale: on - off, bias: off }, &[hot])?;
        }
        let rank = self.ty(hot).rank();
        let axis = self.axis(hot, "axis", self.int("axis", -1))?;
        if axis + 1 < rank {
            let mut perm: Vec<i64> = (0..rank as i64 - 1).collect();
            perm.insert(axis, rank as i64 - 1);
            hot = self.emit(Transpose { perm }, &[hot])?;
        }
        Ok(vec![self.cast(hot, dtype)?])
    }
}
