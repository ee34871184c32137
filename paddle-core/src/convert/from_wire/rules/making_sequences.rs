//! Rules for operators that make new sequences. They apply if types say that the values are sequences.

use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{
    BinaryKind, Cast, Compare, CompareKind, CumSum, Fill, Gather, Logical, LogicalKind, Number, Reduce,
    ReduceKind, Reshape, RowNumbers, RowsToAxis, SequenceExpandAs, SequenceLength, SequencePad,
    SequenceRange, Transpose, Unfold, made_sequences,
};
use crate::program::{DType, Dim, RowsId, Type, VarId};

impl Reading<'_, '_> {
    /// The row space of new sequences for the same rows as those of `value`, if `value` has whole sequences.
    fn tokens_like(&mut self, value: VarId, name: &str) -> Option<RowsId> {
        let program = &mut self.reader.draft.program;
        let parent = program.rows_of_whole_sequences(program.ty(value).rows?)?;
        Some(program.create_tokens(name, parent))
    }

    /// The lengths or positions in a slot, `[_]` or `[_, 1]`, as i64 without dimensions; `None` if they do not have
    /// these rows.
    fn numbers_of(&mut self, slot: &'static str, rows: RowsId) -> Result<Option<VarId>, ConvertError> {
        let value = self.input(slot)?;
        self.as_numbers(value, rows)
    }

    fn as_numbers(&mut self, mut value: VarId, rows: RowsId) -> Result<Option<VarId>, ConvertError> {
        let Type { dtype, rows: own, dims } = self.ty(value).clone();
        let is_one = dims.len() <= 1 && dims.iter().all(|dim| *dim == Dim::from(1));
        if own != Some(rows) || !is_one || !matches!(dtype, DType::I32 | DType::I64) {
            return Ok(None);
        }
        if dtype == DType::I32 {
            value = self.emit(Cast { dtype: DType::I64 }, &[value])?;
        }
        if !dims.is_empty() {
            value = self.emit(Reshape { dims: Vec::new() }, &[value])?;
        }
        Ok(Some(value))
    }

    /// The length of each sequence, and the place of its first token among all tokens: i64 `[N]`.
    pub(super) fn lengths_and_starts(&mut self, x: VarId) -> Result<[VarId; 2], Fault> {
        let lengths = self.emit(SequenceLength, &[x])?;
        let lengths = self.emit(RowsToAxis, &[lengths])?;
        let starts = self.emit(CumSum { axis: 0, exclusive: true, reverse: false }, &[lengths])?;
        Ok([lengths, starts])
    }

    /// For each of these rows, the sequence of `x` that has the row's number in `which`, i64.
    pub(super) fn chosen_sequences(
        &mut self,
        x: VarId,
        (which, rows): (VarId, RowsId),
        name: &str,
    ) -> Result<VarId, Fault> {
        let mut of_rows = self.lengths_and_starts(x)?;
        for value in &mut of_rows {
            *value = self.emit(Gather { axis: 0 }, &[*value, which])?;
        }
        let [length, start] = of_rows;
        let tokens = self.reader.draft.program.create_tokens(name, rows);
        let position = self.emit(SequenceRange { rows: tokens }, &[length])?;
        let start = self.emit(SequenceExpandAs, &[start, position])?;
        let place = self.at().binary(BinaryKind::Add, position, start)?;
        let all = self.emit(RowsToAxis, &[x])?;
        self.emit(Gather { axis: 0 }, &[all, place])
    }

    /// Makes a value the result.
    fn give(&mut self, value: VarId) -> Result<bool, ConvertError> {
        let desc = self.desc;
        self.write(one(desc.output("Out"), "Out")?, value)?;
        Ok(true)
    }

    pub(super) fn sequence_concat(&mut self) -> Result<bool, ConvertError> {
        let parts = self.inputs("X")?;
        let tokens = |value: &VarId| {
            let program = &self.reader.draft.program;
            program.ty(*value).rows.and_then(|rows| program.rows_of_whole_sequences(rows))
        };
        let of: Vec<Option<RowsId>> = parts.iter().map(tokens).collect();
        if of.iter().any(|other| other.is_none() || *other != of[0]) || parts.len() < 2 {
            return Ok(false);
        }
        let mut joined = parts[0];
        for &part in &parts[1..] {
            let Some(rows) = self.tokens_like(part, "concat") else { return Ok(false) };
            joined = made_sequences::concat([joined, part], rows, |op, inputs| self.emit(op, inputs))?;
        }
        self.give(joined)
    }

    pub(super) fn sequence_slice(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let Some(rows) = self.tokens_like(x, "slice") else { return Ok(false) };
        let Some(of) = self.reader.draft.program.row_space(rows).parent else { return Ok(false) };
        let (Some(offset), Some(length)) = (self.numbers_of("Offset", of)?, self.numbers_of("Length", of)?)
        else {
            return Ok(false);
        };
        let part = made_sequences::slice((x, rows), [offset, length], |op, inputs| self.emit(op, inputs))?;
        self.give(part)
    }

    pub(super) fn sequence_reshape(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let attribute = "new_dim";
        let to = self.desc.attr_int(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
        let width = self.ty(x).dims.iter().try_fold(1i64, |width, dim| width.checked_mul(dim.constant()?));
        let (Some(from), 1..) = (width, to) else { return Ok(false) };
        let Some(rows) = self.tokens_like(x, "reshape") else { return Ok(false) };
        let width = [from, i64::from(to)];
        let reshaped = made_sequences::reshape((x, rows), width, |op, inputs| self.emit(op, inputs))?;
        self.give(reshaped)
    }

    /// Pads to a number of places, by default to those of the longest sequence, and also returns the lengths.
    pub(super) fn sequence_pad(&mut self) -> Result<bool, ConvertError> {
        let (x, places) = (self.input("X")?, self.desc.attr_int("padded_length")?.unwrap_or(-1));
        let pad_value = self.constant_of(self.input("PadValue")?);
        let Some([pad_value]) = pad_value.as_deref() else {
            return self.lacks("its padding is not one known number");
        };
        let (pad_value, desc) = (pad_value.as_f64(), self.desc);
        let whole = self.ty(x).rows.and_then(|rows| self.reader.draft.program.rows_of_whole_sequences(rows));
        if whole.is_none() {
            return Ok(false);
        }
        let length = match places {
            1.. => Dim::from(i64::from(places)),
            _ => self.longest_of(x)?,
        };
        let pad = SequencePad { length, pad_value };
        self.define(pad, &[x], &[], &[one(desc.output("Out"), "Out")?])?;
        if let [name] = desc.output("Length") {
            self.define(SequenceLength, &[x], &[], &[name])?;
        }
        Ok(true)
    }

    /// The length of the longest sequence as a size.
    pub(super) fn longest_of(&mut self, x: VarId) -> Result<Dim, Fault> {
        let mut at = self.at();
        let lengths = at.emit(SequenceLength, &[x])?;
        let lengths = at.emit(RowsToAxis, &[lengths])?;
        let longest = Reduce { kind: ReduceKind::Max, axes: vec![0], keep_dim: false };
        let longest = at.emit(longest, &[lengths])?;
        let numbers = at.numbers_before(longest, "longest")?;
        Ok(at.ty(numbers).dims.first().cloned().unwrap_or(Dim::from(1)))
    }

    pub(super) fn sequence_unpad(&mut self) -> Result<bool, ConvertError> {
        let (x, length) = (self.input("X")?, self.input("Length")?);
        let mut at = self.at();
        let (Some(x), Some(length)) = (at.along_rows(x)?, at.along_rows(length)?) else { return Ok(false) };
        let Some(of) = self.ty(x).rows.filter(|_| !self.ty(x).dims.is_empty()) else { return Ok(false) };
        let Some(length) = self.as_numbers(length, of)? else { return Ok(false) };
        let rows = self.reader.draft.program.create_tokens("unpad", of);
        let tokens = made_sequences::unpad((x, rows), length, |op, inputs| self.emit(op, inputs))?;
        self.give(tokens)
    }

    /// The windows of each image as a sequence, row by row.
    pub(super) fn im2sequence(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("X")?, self.desc);
        if self.has(&["Y"]) {
            return self.lacks("the images have sizes of their own");
        }
        let numbers = |name: &'static str| desc.attr_longs(name);
        let pair = |numbers: &[i64]| <[i64; 2]>::try_from(numbers).ok();
        let (kernel, strides) = (numbers("kernels")?, numbers("strides")?);
        let kernel = kernel.as_deref().and_then(pair);
        let strides = strides.as_deref().map_or(Some([1; 2]), pair);
        let paddings = numbers("paddings")?.map_or(Some([0; 4]), |all| <[i64; 4]>::try_from(&all[..]).ok());
        let (Some(kernel_sizes), Some(strides), Some(paddings)) = (kernel, strides, paddings) else {
            return self.lacks("its windows are not of two sizes, or its paddings not of four sides");
        };
        let mut at = self.at();
        let Some(x) = at.along_rows(x)? else { return self.lacks("the number of images is not known") };
        let columns = at.emit(Unfold { kernel_sizes, strides, paddings, dilations: [1; 2] }, &[x])?;
        let windows = at.emit(Transpose { perm: vec![0, 2, 1] }, &[columns])?;
        let Some(rows) = at.ty(windows).rows else { return Ok(false) };
        let count = at.size_as(&at.ty(windows).dims[0].clone(), DType::I64)?;
        let count = at.shaped(count, Vec::new())?;
        let of_row = at.emit(Fill::zeros(RowNumbers::of(rows).ty), &[])?;
        let count = at.binary(BinaryKind::Add, of_row, count)?;
        let Some(tokens) = at.first_of_each(windows, count, "windows")? else { return Ok(false) };
        self.give(tokens)
    }

    /// Drops the tokens that are among the named ones.
    pub(super) fn sequence_erase(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let erased = self.desc.attr_ints("tokens")?.unwrap_or_default();
        let ty = self.ty(x).clone();
        let is_one = ty.dims.len() <= 1 && ty.dims.iter().all(|dim| *dim == Dim::from(1));
        let Some(rows) = self.tokens_like(x, "erase").filter(|_| is_one) else { return Ok(false) };
        let fill = |value| Fill { value, ty: Type { dims: Vec::new(), ..ty.with_dtype(DType::Bool) } };
        let mut keep = self.emit(fill(Number::Bool(true)), &[])?;
        let ids = match ty.dims.is_empty() {
            true => x,
            false => self.emit(Reshape { dims: Vec::new() }, &[x])?,
        };
        for &token in erased.iter() {
            let token = Fill { value: Number::Int(token.into()), ty: Type::scalar(ty.dtype) };
            let token = self.emit(token, &[])?;
            let other = self.emit(Compare { kind: CompareKind::NotEqual }, &[ids, token])?;
            keep = self.emit(Logical { kind: LogicalKind::And }, &[keep, other])?;
        }
        let kept = made_sequences::filter((x, rows), keep, |op, inputs| self.emit(op, inputs))?;
        self.give(kept)
    }
}
