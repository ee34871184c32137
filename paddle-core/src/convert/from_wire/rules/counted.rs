//! Rules for operators that count, order and repeat elements.

use crate::convert::derived::float;
use crate::convert::draft::{At, MOST_POSITIONS, Tried, positions_of};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::types::product;
use crate::ops::{
    BinaryKind, Cast, Compare, CompareKind, Gather, OneHot, Predicate, PredicateKind, Reduce, ReduceKind,
    Reshape, RowNumbers, RowsToAxis, Select, SequenceRange, Slice, TakeAlongAxis, Tile, TopK, Unary,
    UnaryKind,
};
use crate::program::{DType, Dim, VarId};

impl At<'_> {
    /// The sum along the last axis.
    pub(super) fn sum_of_last(&mut self, x: VarId) -> Result<VarId, Fault> {
        let axes = vec![self.ty(x).rank() as i64 - 1];
        self.emit(Reduce { kind: ReduceKind::Sum, axes, keep_dim: false }, &[x])
    }

    /// Each element along an axis as often as a run computes. The elements are rows, for each of which there are that many tokens.
    fn repeated_as_computed(&mut self, x: VarId, axis: i64, repeats: VarId) -> Tried {
        let repeats = self.emit(Cast { dtype: DType::I64 }, &[repeats])?;
        let repeats = self.with_rows(repeats)?;
        let lengths = self.along_rows(repeats)?.filter(|&lengths| self.ty(lengths).dims.is_empty());
        let Some((lengths, rows)) = lengths.and_then(|lengths| Some((lengths, self.ty(lengths).rows?)))
        else {
            return Ok(Err("how many numbers of repetitions there are is not known"));
        };
        let tokens = self.draft.program.create_tokens("repeated", rows);
        self.draft.counted.insert(tokens);
        let tokens = self.emit(SequenceRange { rows: tokens }, &[lengths])?;
        let numbers = self.emit(RowNumbers::of(rows), &[])?;
        let places = self.for_tokens(numbers, tokens)?;
        let places = self.emit(RowsToAxis, &[places])?;
        self.emit(Gather { axis }, &[x, places]).map(Ok)
    }
}

impl Reading<'_, '_> {
    /// Where values would be put into a sorted list: the number of elements that are smaller, or with `right` not larger.
    pub(super) fn searchsorted(&mut self) -> Result<bool, ConvertError> {
        let (sorted, values) = (self.input("SortedSequence")?, self.input("Values")?);
        let right = self.bool("right", false)?;
        let dtype = if self.bool("out_int32", false)? { DType::I32 } else { DType::I64 };
        let (mut own, of) = (self.ty(values).dims.clone(), self.ty(sorted).clone());
        own.push(Dim::from(1));
        let mut dims = of.dims.clone();
        if of.rank() > 1 {
            dims.insert(dims.len() - 1, Dim::from(1));
        }
        let mut at = self.at();
        let (values, sorted) = (at.shaped(values, own)?, at.shaped(sorted, dims)?);
        let kind = if right { CompareKind::LessEqual } else { CompareKind::LessThan };
        let is_before = at.emit(Compare { kind }, &[sorted, values])?;
        let ones = at.emit(Cast { dtype: DType::I64 }, &[is_before])?;
        let count = at.sum_of_last(ones)?;
        let count = if dtype == DType::I64 { count } else { at.emit(Cast { dtype }, &[count])? };
        self.out_value(count)
    }

    /// The `k`-th smallest element along an axis, and its place.
    pub(super) fn kthvalue(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("X")?, self.desc);
        let k = desc.attr_long("k")?.unwrap_or(1);
        let axis = match desc.attr("axis") {
            Some(_) => self.axis_of(x, "axis", "")?,
            None => Some(self.ty(x).rank() as i64 - 1),
        };
        let Some(axis) = axis else { return Ok(false) };
        let keep = self.bool("keepdim", false)?;
        let mut at = self.at();
        let parts = at.emit_all(TopK { k: Some(k), axis, largest: false }, &[x], 2)?;
        for (part, slot) in parts.into_iter().zip(["Out", "Indices"]) {
            let last = at_of(self, part, axis, k, keep)?;
            self.named_value(one(desc.output(slot), slot)?, last)?;
        }
        Ok(true)
    }

    /// The element in the middle along an axis, or the mean of two. Where there is NaN, it is the result.
    pub(super) fn median(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("X")?, self.desc);
        let axes = desc.attr_longs("axis")?.unwrap_or_default();
        let [axis] = axes[..] else { return self.lacks("it is not along one axis") };
        let Some(axis) = self.axis(x, axis) else { return Err(self.no_axis(x, "axis", axis).into()) };
        let rows = usize::from(self.ty(x).rows.is_some());
        let count = axis.checked_sub(rows).and_then(|axis| self.ty(x).dims[axis].constant());
        let Some(count) = count.filter(|&count| count > 0) else {
            return self.lacks("how many elements there are is not known");
        };
        if desc.attr_string("mode")?.is_some_and(|mode| mode != "avg") {
            return self.lacks("it is the lower of two elements");
        }
        if !self.ty(x).dtype.is_float() {
            return Ok(false);
        }
        let (keep_dim, axis, upper) = (self.bool("keepdim", false)?, axis as i64, count / 2 + 1);
        let sorted = self.at().emit_all(TopK { k: Some(upper), axis, largest: false }, &[x], 2)?[0];
        let mut middle = at_of(self, sorted, axis, upper, keep_dim)?;
        if count % 2 == 0 {
            let lower = at_of(self, sorted, axis, count / 2, keep_dim)?;
            let sum = self.at().binary(BinaryKind::Add, lower, middle)?;
            middle = self.at().scaled(sum, 0.5, 0.0)?;
        }
        let mut at = self.at();
        let (dtype, is_nan) = (at.ty(x).dtype, at.emit(Predicate { kind: PredicateKind::NotANumber }, &[x])?);
        let zero = at.number(0.0, dtype)?;
        let rest = at.emit(Select, &[is_nan, x, zero])?;
        let rest = at.emit(Reduce { kind: ReduceKind::Sum, axes: vec![axis], keep_dim }, &[rest])?;
        let median = at.binary(BinaryKind::Add, middle, rest)?;
        self.named_value(one(desc.output("Out"), "Out")?, median)?;
        Ok(true)
    }

    /// How many elements lie in each of so many parts between two numbers.
    pub(super) fn histogram(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let bins = self.desc.attr_long("bins")?.unwrap_or(100);
        let [low, high] = ["min", "max"].map(|name| match self.desc.attr_long(name) {
            Ok(Some(whole)) => Ok(Some(whole as f64)),
            _ => float(self.desc, name),
        });
        let (low, high) = (low?.unwrap_or(0.0), high?.unwrap_or(0.0));
        if low >= high {
            return self.lacks("its bounds are those of its elements");
        }
        if self.ty(x).rows.is_some() {
            return Ok(false);
        }
        if !(1..=MOST_POSITIONS).contains(&bins) {
            return self.lacks("it has no parts, or too many");
        }
        let dims = vec![product(&self.ty(x).dims)?];
        let mut at = self.at();
        let flat = at.shaped(x, dims)?;
        let flat = at.emit(Cast { dtype: DType::F32 }, &[flat])?;
        let (first, width) = (at.number(low, DType::F32)?, at.number(high - low, DType::F32)?);
        let place = at.binary(BinaryKind::Sub, flat, first)?;
        let place = at.scaled(place, bins as f64, 0.0)?;
        let place = at.binary(BinaryKind::Div, place, width)?;
        let place = at.emit(Unary::of(UnaryKind::Floor), &[place])?;
        // The upper bound belongs to the last part; what is outside to none.
        let end = at.number(high, DType::F32)?;
        let is_end = at.emit(Compare { kind: CompareKind::Equal }, &[flat, end])?;
        let is_end = at.emit(Cast { dtype: DType::F32 }, &[is_end])?;
        let place = at.binary(BinaryKind::Sub, place, is_end)?;
        let place = at.emit(Cast { dtype: DType::I64 }, &[place])?;
        let op = OneHot { depth: Dim::from(bins), dtype: DType::I64, allow_out_of_range: true };
        let ones = at.emit(op, &[place])?;
        self.out(Reduce { kind: ReduceKind::Sum, axes: vec![0], keep_dim: false }, &[ones])
    }

    /// Each element along an axis several times: one number for all, or one for each.
    pub(super) fn repeat_interleave(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let Some(axis) = self.axis_of(x, "dim", "")? else { return Ok(false) };
        let rows = usize::from(self.ty(x).rows.is_some());
        let at = axis as usize - rows;
        let mut dims = self.ty(x).dims.clone();
        if self.has(&["RepeatsTensor"]) {
            let input = self.input("RepeatsTensor")?;
            let repeats: Option<Vec<i64>> =
                self.constant_of(input).and_then(|all| all.iter().map(|number| number.as_i64()).collect());
            let Some(repeats) = repeats.filter(|repeats| dims[at].constant() == Some(repeats.len() as i64))
            else {
                // Beside operators that stay foreign, and give what is declared, the size of a run's own would not fit.
                if self.reader.found.is_none() {
                    return self.lacks("its numbers of repetitions are not known");
                }
                let tried = self.at().repeated_as_computed(x, axis, input);
                return self.tried(tried, "Out");
            };
            let all = repeats.iter().try_fold(0i64, |sum, &times| sum.checked_add(times.max(0)));
            if all.is_none_or(|all| all > MOST_POSITIONS) {
                return self.lacks("it repeats too often");
            }
            let each = repeats.iter().enumerate();
            let positions = each.flat_map(|(k, &times)| vec![k as i64; times.max(0) as usize]).collect();
            let positions = self.emit(positions_of(positions), &[])?;
            return self.out(Gather { axis }, &[x, positions]);
        }
        let times = self.desc.attr_long("Repeats")?.unwrap_or(1);
        if times < 1 {
            return self.lacks("it repeats less than once");
        }
        let whole = product(&[dims[at].clone(), Dim::from(times)])?;
        dims.insert(at + 1, Dim::from(1));
        let column = self.emit(Reshape { dims: dims.clone() }, &[x])?;
        let mut repeat_times = vec![Dim::from(1); dims.len()];
        repeat_times[at + 1] = Dim::from(times);
        let repeated = self.emit(Tile { repeat_times }, &[column])?;
        dims.remove(at + 1);
        dims[at] = whole;
        self.out(Reshape { dims }, &[repeated])
    }

    /// A part of a value: its sizes, -1 for all that is left, behind so many elements of each axis.
    pub(super) fn crop(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let (shape_slot, offsets_slot) = match self.desc.r#type.as_str() {
            "crop_tensor" => ("ShapeTensor", "OffsetsTensor"),
            _ => ("", ""),
        };
        let shape = match self.has(&["Shape"]) {
            true => self.numbers("", "Shape", "")?,
            false => self.numbers("shape", "", shape_slot)?,
        };
        let offsets = match self.has(&["Offsets"]) {
            true => self.numbers("", "Offsets", "")?,
            false => self.numbers("offsets", "", offsets_slot)?,
        };
        let (Some(shape), Some(offsets)) = (shape, offsets) else {
            return self.lacks("its sizes or offsets are not known");
        };
        let rank = self.ty(x).rank();
        if shape.len() != rank || (!offsets.is_empty() && offsets.len() != rank) {
            return self.lacks("its sizes or offsets are not as many as its axes");
        }
        let (mut axes, mut starts, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for (axis, &size) in shape.iter().enumerate() {
            let start = offsets.get(axis).copied().unwrap_or(0);
            if size < 0 && start == 0 {
                continue;
            }
            axes.push(axis as i64);
            starts.push(start);
            ends.push(if size < 0 { i64::MAX } else { start.saturating_add(size) });
        }
        if axes.first() == Some(&0) && self.ty(x).rows.is_some() {
            return Ok(false);
        }
        self.out(Slice::of(axes, starts, ends), &[x])
    }

    /// The whole beams that end in each place: `Ids` and `Parents` are `[steps, rows, beams]`.
    pub(super) fn gather_tree(&mut self) -> Result<bool, ConvertError> {
        let (ids, parents) = (self.input("Ids")?, self.ids("Parents")?);
        if self.ty(ids).rows.is_some() || self.ty(parents).rows.is_some() {
            return Ok(false);
        }
        let Some(steps) = self.at().constant_size(ids, 0).filter(|steps| (1..=1 << 10).contains(steps))
        else {
            return self.lacks("the number of its steps is not known, or too large");
        };
        let mut at = self.at();
        let dims = at.ty(ids).dims[1..].to_vec();
        let step = |at: &mut At<'_>, of: VarId, k: i64| -> Result<VarId, Fault> {
            let part = at.part(of, 0, k, 1)?;
            at.shaped(part, dims.clone())
        };
        let mut found = vec![step(&mut at, ids, steps - 1)?];
        let mut beam = step(&mut at, parents, steps - 1)?;
        let axis = dims.len() as i64 - 1;
        for k in (0..steps - 1).rev() {
            let own = step(&mut at, ids, k)?;
            found.push(at.emit(TakeAlongAxis { axis }, &[own, beam])?);
            let before = step(&mut at, parents, k)?;
            beam = at.emit(TakeAlongAxis { axis }, &[before, beam])?;
        }
        found.reverse();
        let one_step = [&[Dim::from(1)], &dims[..]].concat();
        let parts: Result<Vec<VarId>, Fault> =
            found.into_iter().map(|part| at.shaped(part, one_step.clone())).collect();
        self.out(crate::ops::Concat { axis: 0 }, &parts?)
    }
}

/// The last of `k` elements along an axis.
fn at_of(x: &mut Reading<'_, '_>, part: VarId, axis: i64, k: i64, keep: bool) -> Result<VarId, Fault> {
    let rows = usize::from(x.ty(part).rows.is_some());
    let last = x.at().part(part, axis as usize, k - 1, 1)?;
    if keep {
        return Ok(last);
    }
    let mut dims = x.ty(last).dims.clone();
    dims.remove(axis as usize - rows);
    x.at().shaped(last, dims)
}
