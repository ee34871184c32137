//! Rules for rank tables: the sequences of a batch in the order of their lengths, with which PaddlePaddle's recurrent networks run without
//! padding. A step of such a network has a row for each sequence that is longer than the step's number, those of the longest first.

use std::collections::BTreeMap;

use super::arrays::Array;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{
    AxisToRows, BinaryKind, Cast, Compare, CompareKind, Gather, Reduce, ReduceKind, Reshape, RowNumbers,
    RowsToAxis, TopK,
};
use crate::program::{DType, Dim, Mark, RowsId, VarId};

/// The sequences of a batch in the order of their lengths.
pub(in crate::convert::from_wire) struct RankTable {
    /// The rows that the sequences belong to.
    rows: RowsId,
    /// The length of each sequence, in the order of the batch: i64 `[N]`.
    lengths: VarId,
    /// The place of each sequence's first token among all tokens: i64 `[N]`.
    starts: VarId,
    /// The numbers of the sequences, those of the longest first: i64 `[N]`.
    order: VarId,
    /// For each step, 0, 1, 2, … before the number of sequences that have it, by the block that counts them. There is one such value for a
    /// step, so that all that is read of it has one size.
    running: BTreeMap<(usize, Step), VarId>,
}

impl RankTable {
    /// Whether the table was there when the program had what `to` says. What is counted since is forgotten.
    pub(in crate::convert::from_wire) fn remains(&mut self, to: Mark) -> bool {
        self.running.retain(|_, numbers| to.has(*numbers));
        to.has(self.order)
    }
}

/// The number of a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Known(i64),
    Computed(VarId),
}

/// The variable that a rank table is in: the block that declares it, and its name.
pub(in crate::convert::from_wire) type TableName<'a> = (usize, &'a str);

const NO_TABLE: &str = "its rank table is not made of sequences here";

impl<'a> Reading<'_, 'a> {
    pub(super) fn rank_table(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("X")?, self.desc);
        let rows = self.rows_of(x).filter(|_| self.is_whole(x));
        let Some(rows) = rows.filter(|_| matches!(desc.attr_int("level"), Ok(None | Some(0)))) else {
            return self.lacks("its value has no sequences, or others than those of the batch are asked for");
        };
        let [lengths, starts] = self.lengths_and_starts(x)?;
        let numbers = self.emit(Cast { dtype: DType::F64 }, &[lengths])?;
        let order = self.at().emit_all(TopK { k: None, axis: 0, largest: true }, &[numbers], 2)?[1];
        let table = self.array_named(one(desc.output("Out"), "Out")?)?;
        let found = RankTable { rows, lengths, starts, order, running: BTreeMap::new() };
        self.reader.rank_tables.insert(table, found);
        Ok(true)
    }

    /// Makes a value that of the variable in slot `Out`.
    fn gives(&mut self, value: VarId) -> Result<bool, ConvertError> {
        let desc = self.desc;
        self.named_value(one(desc.output("Out"), "Out")?, value)
    }

    /// The length of the longest sequence.
    pub(super) fn max_sequence_len(&mut self) -> Result<bool, ConvertError> {
        let table = self.array("RankTable")?;
        self.number_of_steps(table)
    }

    /// 0, 1, 2, … before the number of sequences that are longer than the number in slot `I`.
    fn running(&mut self, table: TableName<'a>) -> Result<Option<VarId>, ConvertError> {
        let place = self.input("I")?;
        let step = self.constant_int("I")?.map_or(Step::Computed(place), Step::Known);
        let key = (self.block, step);
        let Some(known) = self.reader.rank_tables.get(&table) else { return Ok(None) };
        if let Some(&found) = known.running.get(&key) {
            return Ok(Some(found));
        }
        let lengths = known.lengths;
        let mut at = self.at();
        let place = at.emit(Cast { dtype: DType::I64 }, &[place])?;
        let place = at.shaped(place, vec![Dim::from(1)])?;
        let is_longer = at.emit(Compare { kind: CompareKind::GreaterThan }, &[lengths, place])?;
        let ones = at.emit(Cast { dtype: DType::I64 }, &[is_longer])?;
        let count = at.emit(Reduce { kind: ReduceKind::Sum, axes: vec![0], keep_dim: false }, &[ones])?;
        let numbers = at.numbers_before(count, "running")?;
        if let Some(table) = self.reader.rank_tables.get_mut(&table) {
            table.running.insert(key, numbers);
        }
        Ok(Some(numbers))
    }

    /// A value without rows, whose first axis is that of the rows.
    fn as_axis(&mut self, value: VarId) -> Result<VarId, Fault> {
        if self.ty(value).rows.is_some() { self.emit(RowsToAxis, &[value]) } else { Ok(value) }
    }

    /// The rows of the sequences that have a step. The rows are in the order of the table already.
    pub(super) fn shrink_memory(&mut self) -> Result<bool, ConvertError> {
        let (x, table) = (self.input("X")?, self.array("RankTable")?);
        let Some(numbers) = self.running(table)? else { return self.lacks(NO_TABLE) };
        let x = self.as_axis(x)?;
        if self.ty(x).dims.is_empty() {
            return self.lacks("its value has no rows");
        }
        let first = self.emit(Gather { axis: 0 }, &[x, numbers])?;
        self.gives(first)
    }

    /// Rows in the order of the table, or whole sequences.
    pub(super) fn reorder_by_rank(&mut self) -> Result<bool, ConvertError> {
        let (x, table) = (self.input("X")?, self.array("RankTable")?);
        let Some(&RankTable { rows, order, .. }) = self.reader.rank_tables.get(&table) else {
            return self.lacks(NO_TABLE);
        };
        if self.ty(x).rows.is_none_or(|own| own == rows) && self.ty(x).rank() > 0 {
            let all = self.as_axis(x)?;
            let mut moved = self.emit(Gather { axis: 0 }, &[all, order])?;
            if self.ty(x).rows.is_some() {
                moved = self.emit(AxisToRows, &[moved, x])?;
            }
            return self.gives(moved);
        }
        if self.rows_of(x) != Some(rows) || !self.is_whole(x) {
            return self.lacks("its rows are not those of the rank table");
        }
        let like = self.emit(RowNumbers::of(rows), &[])?;
        let order = self.emit(AxisToRows, &[order, like])?;
        let moved = self.chosen_sequences(x, (order, rows), "reordered")?;
        self.gives(moved)
    }

    /// The steps of sequences as an array. It holds the sequences as they are, until a step is read.
    pub(super) fn steps_of_sequences(&mut self) -> Result<bool, ConvertError> {
        let (value, table, desc) = (self.input("X")?, self.array("RankTable")?, self.desc);
        let of = self.reader.rank_tables.get(&table).map(|table| table.rows);
        if of.is_none() || self.rows_of(value) != of || !self.is_whole(value) {
            return self.lacks("its sequences are not those of a rank table");
        }
        let array = self.array_named(one(desc.output("Out"), "Out")?)?;
        self.reader.arrays.insert(array, Array::Steps { value, table });
        Ok(true)
    }

    /// A step of sequences: the tokens in this place of all sequences that have one, those of the longest first.
    pub(super) fn step_of(&mut self, value: VarId, table: TableName<'a>) -> Result<bool, ConvertError> {
        let Some(numbers) = self.running(table)? else { return self.lacks(NO_TABLE) };
        let Some(&RankTable { starts, order, .. }) = self.reader.rank_tables.get(&table) else {
            return self.lacks(NO_TABLE);
        };
        let place = self.input("I")?;
        let of = self.emit(Gather { axis: 0 }, &[order, numbers])?;
        let start = self.emit(Gather { axis: 0 }, &[starts, of])?;
        let place = self.emit(Cast { dtype: DType::I64 }, &[place])?;
        let place = self.emit(Reshape { dims: vec![Dim::from(1)] }, &[place])?;
        let place = self.at().binary(BinaryKind::Add, start, place)?;
        let tokens = self.as_axis(value)?;
        let step = self.emit(Gather { axis: 0 }, &[tokens, place])?;
        self.gives(step)
    }

    /// The number of steps, that of the tokens of the longest sequence, as a list of one number.
    pub(super) fn number_of_steps(&mut self, table: TableName<'a>) -> Result<bool, ConvertError> {
        let Some(table) = self.reader.rank_tables.get(&table) else { return self.lacks(NO_TABLE) };
        let longest = Reduce { kind: ReduceKind::Max, axes: vec![0], keep_dim: true };
        let longest = self.emit(longest, &[table.lengths])?;
        self.gives(longest)
    }

    pub(super) fn sequences_of_steps(&mut self) -> Result<bool, ConvertError> {
        let (array, table) = (self.array("X")?, self.array("RankTable")?);
        match self.reader.arrays.get(&array) {
            Some(&Array::Steps { value, table: of }) if of == table => self.alias("Out", value),
            _ => self.lacks("its array holds other values than the steps of sequences of this rank table"),
        }
    }
}
