//! Rules for operators that give a value with other elements at some of its places.

use crate::convert::draft::{Along, Tried};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::ours::constants::scalars;
use crate::ops::compositions::along_axis;
use crate::ops::{
    AssignValue, BinaryKind, Cast, CumSum, Fill, Gather, Matmul, Number, OneHot, Select, TakeAlongAxis,
    Transpose,
};
use crate::program::{DType, Dim, Type, VarId};

impl<'a> Reading<'_, 'a> {
    /// Makes the value of a composition that of a variable, or says what it lacks.
    pub(super) fn tried(&mut self, tried: Tried, slot: &'static str) -> Result<bool, ConvertError> {
        let desc = self.desc;
        match tried? {
            Ok(value) => self.named_value(one(desc.output(slot), slot)?, value),
            Err(lack) => self.lacks(lack),
        }
    }

    /// A part of a value, by slices along some axes, is replaced.
    pub(super) fn set_value(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("Input")?;
        let axes = self.desc.attr_longs("axes")?.unwrap_or_default();
        let decrease = self.desc.attr_longs("decrease_axes")?.unwrap_or_default();
        if !self.desc.attr_longs("none_axes")?.unwrap_or_default().is_empty() {
            return self.lacks("its slices have new axes");
        }
        let starts = self.numbers("starts", "", "StartsTensorList")?;
        let ends = self.numbers("ends", "", "EndsTensorList")?;
        let steps = self.numbers("steps", "", "StepsTensorList")?;
        let (Some(starts), Some(ends), Some(steps)) = (starts, ends, steps) else {
            return self.lacks("its bounds are not known");
        };
        if starts.len() != axes.len() || ends.len() != axes.len() || steps.len() != axes.len() {
            return self.lacks("its bounds are not as many as its axes");
        }
        let rows = usize::from(self.ty(x).rows.is_some());
        let mut parts = Vec::new();
        for (k, &axis) in axes.iter().enumerate() {
            let axis = self.axis(x, axis).ok_or_else(|| self.no_axis(x, "axes", axis))?;
            if steps[k] == 0 {
                return self.lacks("a stride is 0");
            }
            // Of an end below 0, `-1` is the last element, whatever the stride; PaddlePaddle writes larger ones for it.
            parts.push(Along { axis, start: starts[k], end: ends[k], stride: steps[k] });
        }
        // Rows that are replaced as a whole stay rows.
        parts.retain(|part| {
            let whole = part.start == 0 && part.stride == 1 && part.end >= i64::from(i32::MAX);
            !(part.axis < rows && whole)
        });
        let value = match self.has(&["ValueTensor"]) {
            true => self.input("ValueTensor")?,
            false => self.numbers_of_scalars(self.ty(x).dtype)?,
        };
        let dtype = self.ty(x).dtype;
        let value = if self.ty(value).dtype == dtype { value } else { self.emit(Cast { dtype }, &[value])? };
        let rank = self.ty(x).rank();
        let dropped: Vec<usize> = decrease.iter().filter_map(|&axis| self.axis(x, axis)).collect();
        let mut at = self.at();
        let tried = at.replaced(x, &parts, &mut |at, part| {
            // The axes of the value, which lacks those that the slices drop, are the last ones of the part.
            let ty = at.ty(value).clone();
            let mut own = ty.dims.clone();
            if ty.rows.is_some() {
                own.insert(0, Dim::from(1));
            }
            let (mut dims, mut left) = (vec![Dim::from(1); rank], own);
            for axis in (0..rank).rev().filter(|axis| !dropped.contains(axis)) {
                match left.pop() {
                    Some(dim) => dims[axis] = dim,
                    None => break,
                }
            }
            let is_of_rows = ty.rows.is_some();
            if left.iter().any(|dim| dim.constant() != Some(1))
                || (is_of_rows && (!left.is_empty() || ty.rank() + dropped.len() != rank))
            {
                return Ok(Err("its value has other axes than what it replaces"));
            }
            if at.ty(part).rows.is_some() {
                dims.remove(0);
            }
            let value = at.shaped(value, dims)?;
            at.spread(value, part).map(Ok)
        });
        self.tried(tried, "Out")
    }

    /// The values that are written as attributes. Those of a value with fractions have its type.
    fn numbers_of_scalars(&mut self, of: DType) -> Result<VarId, Fault> {
        let values = scalars(self.desc, "values");
        if values.is_empty() {
            return Err(Fault::MissingAttribute { attribute: "values" });
        }
        let dtype = match values[0] {
            Number::Bool(_) => DType::Bool,
            Number::Int(_) | Number::Float(_) if of.is_float() => of,
            Number::Int(_) => DType::I64,
            Number::Float(_) => DType::F64,
        };
        let shape = self.desc.attr_longs("shape")?.unwrap_or_default();
        self.emit(AssignValue { values, ty: Type::new(dtype, shape) }.rounded(), &[])
    }

    pub(super) fn put_along_axis(&mut self) -> Result<bool, ConvertError> {
        let (x, index, value) = (self.input("Input")?, self.ids("Index")?, self.input("Value")?);
        let Some(axis) = self.axis_of(x, "Axis", "")? else { return Ok(false) };
        if !self.bool("Include_self", true)? {
            return self.lacks("it leaves out the elements that are there");
        }
        let rank = self.ty(x).rank();
        if self.ty(index).rank() != rank {
            return Ok(false);
        }
        let value = if self.ty(value).dims == self.ty(index).dims {
            value
        } else {
            let like = self.ty(index).with_dtype(self.ty(x).dtype);
            let like = self.emit(Fill::zeros(like), &[])?;
            self.at().spread(value, like)?
        };
        let ty = self.ty(x).clone();
        match self.desc.attr_string("Reduce")?.unwrap_or("assign") {
            "assign" => {
                let tried = along_axis::put(&mut self.at(), x, axis, index, value);
                self.tried(tried, "Result")
            }
            "add" => {
                let added = along_axis::added(&mut self.at(), &ty, axis, index, value)?;
                let sum = self.at().binary(BinaryKind::Add, x, added);
                self.tried(sum.map(Ok), "Result")
            }
            _ => self.lacks("it neither assigns nor adds"),
        }
    }

    /// Elements of each row, by indices of its own.
    pub(super) fn index_sample(&mut self) -> Result<bool, ConvertError> {
        let inputs = [self.input("X")?, self.ids("Index")?];
        self.out(TakeAlongAxis { axis: 1 }, &inputs)
    }

    /// Adds values along an axis, at indices that all others have in common.
    pub(super) fn index_add(&mut self) -> Result<bool, ConvertError> {
        let (x, index, value) = (self.input("X")?, self.ids("Index")?, self.input("AddValue")?);
        let Some(axis) = self.axis_of(x, "axis", "")? else { return Ok(false) };
        let dtype = self.ty(x).dtype;
        if self.ty(index).rows.is_some() || !dtype.is_float() {
            return self.lacks("its indices have rows, or it adds integers");
        }
        let rank = self.ty(x).rank();
        let depth = self.reader.draft.program.shape(self.ty(x))[axis as usize].clone();
        let ones = self.emit(OneHot { depth, dtype, allow_out_of_range: false }, &[index])?;
        let turn = Transpose::to_last(axis as usize, rank);
        let last = self.emit(turn.clone(), &[value])?;
        let added = self.emit(Matmul::PLAIN, &[last, ones])?;
        let added = self.emit(turn, &[added])?;
        let sum = self.at().binary(BinaryKind::Add, x, added);
        self.tried(sum.map(Ok), "Out")
    }

    /// Elements at places, by a mask or by indices along the first axes.
    pub(super) fn index_put(&mut self) -> Result<bool, ConvertError> {
        let (x, value) = (self.input("x")?, self.input("value")?);
        let mut places = self.inputs("indices")?;
        let adds = self.bool("accumulate", false)?;
        if let [mask] = places[..]
            && self.ty(mask).dtype == DType::Bool
        {
            return self.put_where(x, mask, value, adds);
        }
        for place in &mut places {
            match self.ty(*place).dtype {
                DType::I64 => {}
                DType::I32 => *place = self.emit(Cast { dtype: DType::I64 }, &[*place])?,
                _ => return self.lacks("it has masks beside indices"),
            }
        }
        if places.iter().chain([&x, &value]).any(|&input| self.ty(input).rows.is_some()) {
            return Ok(false);
        }
        let tried = self.at().put_at(x, &places, value, adds);
        self.tried(tried, "out")
    }

    /// Elements where a mask holds, whose axes are the first ones: one value for all, or one for each.
    fn put_where(&mut self, x: VarId, mask: VarId, value: VarId, adds: bool) -> Result<bool, ConvertError> {
        let (ty, of_mask) = (self.ty(x).clone(), self.ty(mask).clone());
        if ty.rows != of_mask.rows || !ty.dims.starts_with(&of_mask.dims) {
            return Ok(false);
        }
        let behind = ty.dims.len() - of_mask.dims.len();
        let of_value = self.ty(value).clone();
        let is_one = of_value.rows.is_none() && of_value.dims.iter().all(|dim| dim.constant() == Some(1));
        let value = if is_one {
            self.at().shaped(value, Vec::new())?
        } else if of_value.rows.is_none() && of_value.dims.len() <= behind {
            value
        } else if behind == 0 && of_value.dims.len() == 1 && ty.rows.is_none() && of_value.rows.is_none() {
            // The number of a place among those that are chosen is that of its value.
            let mut at = self.at();
            let count = vec![crate::convert::types::product(&ty.dims)?];
            let ones = at.emit(Cast { dtype: DType::I64 }, &[mask])?;
            let ones = at.shaped(ones, count)?;
            let number = at.emit(CumSum { axis: 0, exclusive: true, reverse: false }, &[ones])?;
            let last = at.size_as(&of_value.dims[0], DType::I64)?;
            let one = at.number(1.0, DType::I64)?;
            let last = at.binary(BinaryKind::Sub, last, one)?;
            let number = at.binary(BinaryKind::Min, number, last)?;
            let taken = at.emit(Gather { axis: 0 }, &[value, number])?;
            at.shaped(taken, ty.dims.clone())?
        } else {
            return self.lacks("its values are neither one nor one for each place");
        };
        let mut at = self.at();
        let value = if adds { at.binary(BinaryKind::Add, x, value)? } else { value };
        let ones = std::iter::repeat_n(Dim::from(1), behind);
        let mask = at.shaped(mask, of_mask.dims.iter().cloned().chain(ones).collect())?;
        let chosen = at.emit(Select, &[mask, value, x]);
        self.tried(chosen.map(Ok), "out")
    }

    /// One value wherever a mask holds.
    pub(super) fn masked_fill(&mut self) -> Result<bool, ConvertError> {
        let (x, mask) = (self.input("x")?, self.input("mask")?);
        let value = self.scalar("value", self.ty(x).dtype)?;
        let filled = self.emit(Select, &[mask, value, x]);
        self.tried(filled.map(Ok), "out")
    }

    /// The reverse of a maximum over windows: each element goes to the place of the largest one.
    pub(super) fn unpool(&mut self) -> Result<bool, ConvertError> {
        let (x, index) = (self.input("X")?, self.ids("Indices")?);
        let numbers = |name: &str| Ok::<_, Fault>(self.desc.attr_longs(name)?.unwrap_or_default());
        let (window, stride) = (numbers("ksize")?, numbers("strides")?);
        if window.iter().zip(&stride).any(|(window, stride)| window > stride) {
            return self.lacks("its windows overlap, so a place may have several elements");
        }
        let Some(sizes) = self.dims("output_size", "OutputSize", "")? else {
            return self.lacks("the size of its result is not known");
        };
        let ty = self.ty(x).clone();
        let ([.., channels, height, width], [down, across]) = (&ty.dims[..], &sizes[..]) else {
            return Ok(false);
        };
        let before = ty.dims[..ty.dims.len() - 3].to_vec();
        let of = [channels.clone(), crate::convert::types::product(&[height.clone(), width.clone()])?];
        let to = [channels.clone(), crate::convert::types::product(&sizes)?];
        let mut at = self.at();
        let flat = at.shaped(x, [&before[..], &of].concat())?;
        let index = at.shaped(index, [&before[..], &of].concat())?;
        let axis = ty.rank() as i64 - 2;
        let target = Type { dims: [&before[..], &to].concat(), ..ty.clone() };
        let put = along_axis::added(&mut at, &target, axis, index, flat)?;
        let dims = [&before[..], &[channels.clone(), down.clone(), across.clone()]].concat();
        let put = at.shaped(put, dims);
        self.tried(put.map(Ok), "Out")
    }
}
