//! Elements that are chosen while a program runs: as many as it turns out are tokens of a sequence for each row. Values without
//! rows get some for that.

use super::At;
use crate::convert::error::Fault;
use crate::convert::types::product;
use crate::ops::{
    AxisToRows, BinaryKind, Cast, Concat, CumSum, Reduce, ReduceKind, RowNumbers, SequenceExpandAs, TopK,
    made_sequences,
};
use crate::program::{DType, Dim, VarId};

impl At<'_> {
    /// A value with rows, which are its first axis. The rows of values without rows are always as many as they are now, or as
    /// tokens that a run chooses. `None` if that is not known.
    pub(in crate::convert) fn along_rows(&mut self, value: VarId) -> Result<Option<VarId>, Fault> {
        let ty = self.ty(value);
        if ty.rows.is_some() {
            return Ok(Some(value));
        }
        let Some(count) = ty.dims.first() else { return Ok(None) };
        let known = count.constant().and_then(|count| u32::try_from(count).ok());
        let rows = match known {
            Some(count) => Some(self.draft.program.fixed_rows(count)),
            None => self.draft.rows_of_number(count),
        };
        let Some(rows) = rows else { return Ok(None) };
        let like = self.emit(RowNumbers::of(rows), &[])?;
        self.emit(AxisToRows, &[value, like]).map(Some)
    }

    /// A value without rows as that of the only row of a row space.
    pub(in crate::convert) fn as_only_row(&mut self, value: VarId) -> Result<VarId, Fault> {
        let dims = [&[Dim::from(1)], &self.ty(value).dims[..]].concat();
        let value = self.shaped(value, dims)?;
        let rows = self.draft.program.fixed_rows(1);
        let like = self.emit(RowNumbers::of(rows), &[])?;
        self.emit(AxisToRows, &[value, like])
    }

    /// How many of the truth values of each row hold, or of each place of the first axis: i64 `[rows]`.
    pub(in crate::convert) fn count_of(&mut self, truth: VarId) -> Result<VarId, Fault> {
        let ones = self.emit(Cast { dtype: DType::I64 }, &[truth])?;
        let axes = (1..self.ty(truth).rank() as i64).collect();
        self.emit(Reduce { kind: ReduceKind::Sum, axes, keep_dim: false }, &[ones])
    }

    /// The places of a list of truth values, those where it holds in front and in order, for each row.
    ///
    /// What is sorted differs from place to place where it holds, as PaddlePaddle's `argsort` may put equal elements in any
    /// order: the first of these places gets the number of all places, the next one 1 less.
    pub(in crate::convert) fn places_of(&mut self, truth: VarId) -> Result<VarId, Fault> {
        let all = self.ty(truth).dims[0].clone();
        let ones = self.emit(Cast { dtype: DType::I64 }, &[truth])?;
        let before = self.emit(CumSum { axis: 1, exclusive: true, reverse: false }, &[ones])?;
        let all = self.size_as(&all, DType::I64)?;
        let left = self.binary(BinaryKind::Sub, all, before)?;
        let key = self.binary(BinaryKind::Mul, left, ones)?;
        Ok(self.emit_all(TopK { k: None, axis: 1, largest: true }, &[key], 2)?[1])
    }

    /// The first places of each row, as many as `counts` says.
    pub(in crate::convert) fn first_of_each(
        &mut self,
        value: VarId,
        counts: VarId,
        name: &str,
    ) -> Result<Option<VarId>, Fault> {
        let Some(rows) = self.ty(value).rows else { return Ok(None) };
        let tokens = self.draft.program.create_tokens(name, rows);
        made_sequences::unpad((value, tokens), counts, |op, inputs| self.emit(op, inputs)).map(Some)
    }

    /// The value of its row for each token.
    pub(in crate::convert) fn for_tokens(&mut self, value: VarId, tokens: VarId) -> Result<VarId, Fault> {
        self.emit(SequenceExpandAs, &[value, tokens])
    }

    /// The places of a value of truth values where it holds: i64 `[tokens, axes]`. `None` if it has rows, or no axes.
    pub(in crate::convert) fn places_where(&mut self, truth: VarId) -> Result<Option<VarId>, Fault> {
        let ty = self.ty(truth).clone();
        if ty.rows.is_some() || ty.dims.is_empty() {
            return Ok(None);
        }
        let Some(place) = self.flat_places_where(truth)? else { return Ok(None) };
        let (mut rest, mut columns) = (place, Vec::new());
        for size in ty.dims[1..].iter().rev() {
            let size = self.size_as(size, DType::I64)?;
            let size = self.shaped(size, Vec::new())?;
            let outer = self.binary(BinaryKind::FloorDiv, rest, size)?;
            let first = self.binary(BinaryKind::Mul, outer, size)?;
            let own = self.binary(BinaryKind::Sub, rest, first)?;
            columns.push(self.shaped(own, vec![Dim::from(1)])?);
            rest = outer;
        }
        columns.push(self.shaped(rest, vec![Dim::from(1)])?);
        columns.reverse();
        // PaddlePaddle does not join values of which none has elements.
        match columns[..] {
            [column] => Ok(Some(column)),
            _ => self.emit(Concat { axis: 1 }, &columns).map(Some),
        }
    }

    /// The same places, counted through all axes: i64 `[tokens]`.
    pub(in crate::convert) fn flat_places_where(&mut self, truth: VarId) -> Result<Option<VarId>, Fault> {
        let dims = vec![product(&self.ty(truth).dims)?];
        let flat = self.shaped(truth, dims)?;
        let row = self.as_only_row(flat)?;
        let (places, counts) = (self.places_of(row)?, self.count_of(row)?);
        self.first_of_each(places, counts, "chosen")
    }
}
