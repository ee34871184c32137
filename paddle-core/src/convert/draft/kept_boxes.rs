//! Boxes that suppression keeps, as the rows of a table: an operator chooses the boxes of each class, and others order them and
//! cut the table to those that there are.

use super::At;
use crate::convert::from_wire::Fault;
use crate::convert::types::product;
use crate::ops::{
    AssignValue, AxisToRows, BinaryKind, Cast, Compare, CompareKind, Concat, Gather, Logical, LogicalKind,
    NonMaxSuppression, Number, Reduce, ReduceKind, RowNumbers, Select, SequenceExpandAs, SequenceUnpad,
    TakeAlongAxis, TopK, made_sequences,
};
use crate::program::{DType, Dim, Type, VarId};

/// What of the boxes of all classes is kept.
pub(in crate::convert) struct Keeping {
    pub(in crate::convert) suppression: NonMaxSuppression,
    /// The class whose boxes are not looked at.
    pub(in crate::convert) background: Option<i64>,
    /// The most boxes of a row.
    pub(in crate::convert) most: Option<i64>,
    /// Whether a batch of which nothing is kept gives one box, whose numbers are all -1.
    pub(in crate::convert) never_empty: bool,
}

/// The boxes that are kept. They are tokens of the rows, as many as are kept of each.
pub(in crate::convert) struct Kept {
    /// Class, score and corners: `[tokens, 6]`.
    pub(in crate::convert) boxes: VarId,
    /// The number of each among the boxes of its row: i64 `[tokens]`.
    pub(in crate::convert) numbers: VarId,
    /// How many are kept of each row: i64 `[rows]`.
    pub(in crate::convert) counts: VarId,
}

impl At<'_> {
    /// A value with rows, which are its first axis. The rows of values without rows are always as many as they are now.
    /// `None` if that is not known.
    pub(in crate::convert) fn along_rows(&mut self, value: VarId) -> Result<Option<VarId>, Fault> {
        if self.ty(value).rows.is_some() {
            return Ok(Some(value));
        }
        let count = self.ty(value).dims.first().and_then(Dim::constant);
        let Some(count) = count.and_then(|count| u32::try_from(count).ok()) else { return Ok(None) };
        let rows = self.draft.fixed_rows(count);
        let like = self.emit(RowNumbers::of(rows), &[])?;
        self.emit(AxisToRows, &[value, like]).map(Some)
    }

    /// A value without rows as that of the only row of a row space.
    pub(in crate::convert) fn as_only_row(&mut self, value: VarId) -> Result<VarId, Fault> {
        let dims = [&[Dim::from(1)], &self.ty(value).dims[..]].concat();
        let value = self.shaped(value, dims)?;
        let rows = self.draft.fixed_rows(1);
        let like = self.emit(RowNumbers::of(rows), &[])?;
        self.emit(AxisToRows, &[value, like])
    }

    /// How many of the truth values of each row hold: i64 `[rows]`.
    pub(in crate::convert) fn count_of(&mut self, truth: VarId) -> Result<VarId, Fault> {
        let ones = self.emit(Cast { dtype: DType::I64 }, &[truth])?;
        let axes = (1..self.ty(truth).rank() as i64).collect();
        self.emit(Reduce { kind: ReduceKind::Sum, axes, keep_dim: false }, &[ones])
    }

    /// The places of a list of truth values, those where it holds in front, for each row.
    pub(in crate::convert) fn places_of(&mut self, truth: VarId) -> Result<VarId, Fault> {
        let numbers = self.emit(Cast { dtype: DType::F32 }, &[truth])?;
        Ok(self.emit_all(TopK { k: None, axis: 1, largest: true }, &[numbers], 2)?[1])
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

    /// The boxes of all classes that are kept, class by class. `boxes`: `[rows, M, 4]`, `scores`: `[rows, C, M]`. `None` if the
    /// number of classes is not known.
    pub(in crate::convert) fn kept_boxes(
        &mut self,
        boxes: VarId,
        mut scores: VarId,
        keeping: &Keeping,
    ) -> Result<Option<Kept>, Fault> {
        let Some(count) = self.ty(scores).dims.first().and_then(Dim::constant) else { return Ok(None) };
        let classes: Vec<i64> = (0..count).filter(|&class| Some(class) != keeping.background).collect();
        if classes.is_empty() {
            return Ok(None);
        }
        if classes.len() < count as usize {
            scores = self.picked(scores, 1, classes.clone())?;
        }
        let chosen = self.emit(keeping.suppression, &[boxes, scores])?;
        let dims = self.ty(chosen).dims.clone();
        let (places, all) = (dims[1].clone(), product(&dims)?);
        let zero = self.number(0.0, DType::I64)?;
        let is_kept = self.emit(Compare { kind: CompareKind::GreaterEqual }, &[chosen, zero])?;
        let numbers = self.binary(BinaryKind::Max, chosen, zero)?;
        let of_numbers = self.emit(TakeAlongAxis { axis: 2 }, &[scores, numbers])?;
        // The score of whatever is kept is above this.
        let lowest = self.number(keeping.suppression.score_threshold, self.ty(scores).dtype)?;
        let of_kept = self.emit(Select, &[is_kept, of_numbers, lowest])?;
        let flat = |value, at: &mut Self| at.shaped(value, vec![all.clone()]);
        let (numbers, of_kept) = (flat(numbers, self)?, flat(of_kept, self)?);

        let is_more = |most: &i64| all.constant().is_none_or(|all| all > *most);
        let (at, is_there) = match keeping.most.filter(is_more) {
            None => {
                let is_kept = flat(is_kept, self)?;
                (self.places_of(is_kept)?, is_kept)
            }
            Some(most) => {
                let best = self.emit_all(TopK { k: Some(most), axis: 1, largest: true }, &[of_kept], 2)?;
                let is_there = self.emit(Compare { kind: CompareKind::GreaterThan }, &[best[0], lowest])?;
                // In the order of the classes again; places of nothing come last.
                let end = self.size_value(&all)?;
                let end = self.emit(Cast { dtype: DType::I64 }, &[end])?;
                let key = self.emit(Select, &[is_there, best[1], end])?;
                let key = self.emit_all(TopK { k: None, axis: 1, largest: false }, &[key], 2)?[0];
                let last = self.scaled(end, 1.0, -1.0)?;
                (self.binary(BinaryKind::Min, key, last)?, is_there)
            }
        };
        let mut counts = self.count_of(is_there)?;
        let places = self.size_value(&places)?;
        let places = self.emit(Cast { dtype: DType::I64 }, &[places])?;
        let class = self.binary(BinaryKind::FloorDiv, at, places)?;
        let dtype = self.ty(scores).dtype;
        let labels = classes.iter().map(|&class| Number::Float(class as f64)).collect();
        let ty = Type::new(dtype, [classes.len() as i64]);
        let labels = self.emit(AssignValue { values: labels, ty }, &[])?;
        let label = self.emit(Gather { axis: 0 }, &[labels, class])?;
        let number = self.emit(Gather { axis: 1 }, &[numbers, at])?;
        let score = self.emit(Gather { axis: 1 }, &[of_kept, at])?;
        let corners = self.emit(Gather { axis: 1 }, &[boxes, number])?;
        let column = |value, at: &mut Self| {
            let dims = [&at.ty(value).dims[..], &[Dim::from(1)]].concat();
            at.shaped(value, dims)
        };
        let (label, score) = (column(label, self)?, column(score, self)?);
        let mut table = self.emit(Concat { axis: 2 }, &[label, score, corners])?;
        if keeping.never_empty {
            (table, counts) = self.never_empty(table, counts)?;
        }
        let Some(kept) = self.first_of_each(table, counts, "kept")? else { return Ok(None) };
        let number = self.emit(SequenceUnpad, &[number, kept])?;
        Ok(Some(Kept { boxes: kept, numbers: number, counts }))
    }

    /// Of a batch without boxes, the first row gets one whose numbers are all -1.
    fn never_empty(&mut self, table: VarId, counts: VarId) -> Result<(VarId, VarId), Fault> {
        let total =
            self.emit(Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false }, &[counts])?;
        let (zero, one) = (self.number(0.0, DType::I64)?, self.number(1.0, DType::I64)?);
        let is_empty = self.emit(Compare { kind: CompareKind::Equal }, &[total, zero])?;
        let Some(rows) = self.ty(table).rows else { return Ok((table, counts)) };
        let number = self.emit(RowNumbers::of(rows), &[])?;
        let is_first = self.emit(Compare { kind: CompareKind::Equal }, &[number, zero])?;
        let is_first_of_none = self.emit(Logical { kind: LogicalKind::And }, &[is_first, is_empty])?;
        let counts = self.emit(Select, &[is_first_of_none, one, counts])?;
        let none = self.number(-1.0, self.ty(table).dtype)?;
        let is_first_of_none = self.shaped(is_first_of_none, vec![Dim::from(1), Dim::from(1)])?;
        Ok((self.emit(Select, &[is_first_of_none, none, table])?, counts))
    }

    /// The value of its row for each token.
    pub(in crate::convert) fn for_tokens(&mut self, value: VarId, tokens: VarId) -> Result<VarId, Fault> {
        self.emit(SequenceExpandAs, &[value, tokens])
    }
}
