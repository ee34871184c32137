//! Values by the groups that they belong to: rows of sequences, boxes of images.

use crate::convert::draft::At;
use crate::convert::from_wire::Fault;
use crate::ops::{Fill, Number, RowNumbers, RowsToAxis, ScatterNdAdd, SequenceExpandAs};
use crate::program::{DType, Dim, RowsId, Type, VarId};

/// What rows belong to, several levels of sequences above them.
pub(super) struct Sources {
    pub(super) rows: RowsId,
    /// How many there are.
    pub(super) count: Dim,
    /// The number of the source of each row: i64 `[R]`.
    pub(super) of_rows: VarId,
}

impl At<'_> {
    /// The sources of the rows whose levels of sequences these are, the outermost first.
    pub(super) fn sources(&mut self, levels: &[RowsId]) -> Result<Option<Sources>, Fault> {
        let outermost = levels.first().and_then(|&level| self.draft.program.rows_of_whole_sequences(level));
        let Some(rows) = outermost else { return Ok(None) };
        let mut number = self.emit(RowNumbers::of(rows), &[])?;
        let all = self.emit(RowsToAxis, &[number])?;
        let count = self.ty(all).dims[0].clone();
        for &level in levels {
            let like = self.emit(RowNumbers::of(level), &[])?;
            number = self.emit(SequenceExpandAs, &[number, like])?;
        }
        let of_rows = self.emit(RowsToAxis, &[number])?;
        Ok(Some(Sources { rows, count, of_rows }))
    }

    /// How often each of the numbers before `count` is in a list: i64 `[count]`.
    pub(super) fn counts(&mut self, list: VarId, count: &Dim) -> Result<VarId, Fault> {
        let of = |dim: &Dim| Type { dtype: DType::I64, rows: None, dims: vec![dim.clone()] };
        let all = self.ty(list).dims[0].clone();
        let ones = self.emit(Fill { value: Number::Int(1), ty: of(&all) }, &[])?;
        self.sums_by(list, ones, count)
    }

    /// The sums of the numbers that belong to each of the numbers before `count`: i64 `[count]`.
    pub(super) fn sums_by(&mut self, list: VarId, numbers: VarId, count: &Dim) -> Result<VarId, Fault> {
        let ty = Type { dtype: DType::I64, rows: None, dims: vec![count.clone()] };
        let zeros = self.emit(Fill::zeros(ty), &[])?;
        let column = vec![self.ty(list).dims[0].clone(), Dim::from(1)];
        let column = self.shaped(list, column)?;
        self.emit(ScatterNdAdd, &[zeros, column, numbers])
    }
}
