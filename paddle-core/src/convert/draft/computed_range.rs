//! Ranges whose limits are computed while a program runs: as many numbers as it turns out are tokens of an only row, and the number of
//! these tokens is a size.

use super::At;
use crate::convert::error::Fault;
use crate::ops::{BinaryKind, Cast, RowsToAxis, SequenceRange, Unary, UnaryKind};
use crate::program::{DType, Dim, VarId};

impl At<'_> {
    /// 0, 1, 2, … before a count, one i64 without rows that a run computes: i64 `[n]`, where `n` is a new size. Below 0 there are none.
    pub(in crate::convert) fn numbers_before(&mut self, count: VarId, name: &str) -> Result<VarId, Fault> {
        let count = self.shaped(count, Vec::new())?;
        let none = self.number(0.0, DType::I64)?;
        let count = self.binary(BinaryKind::Max, count, none)?;
        let count = self.as_only_row(count)?;
        let count = self.shaped(count, Vec::new())?;
        let row = self.draft.program.fixed_rows(1);
        let rows = self.draft.program.create_tokens(name, row);
        self.draft.counted.insert(rows);
        let numbers = self.emit(SequenceRange { rows }, &[count])?;
        self.emit(RowsToAxis, &[numbers])
    }

    /// The numbers from `start` to before `end` by `step`, each of them one number without rows, of the same element type. `None` if
    /// some of them is something else.
    pub(in crate::convert) fn range_between(&mut self, limits: [VarId; 3]) -> Result<Option<VarId>, Fault> {
        let dtype = self.ty(limits[0]).dtype;
        let is_one = |&limit: &VarId| {
            let ty = self.ty(limit);
            ty.rows.is_none() && ty.dtype == dtype && ty.dims.iter().all(|dim| *dim == Dim::from(1))
        };
        if dtype == DType::Bool || !limits.iter().all(is_one) {
            return Ok(None);
        }
        let mut numbers = limits;
        for number in &mut numbers {
            *number = self.shaped(*number, Vec::new())?;
        }
        let [start, end, step] = numbers;
        // ⌈(end - start) / step⌉, which for whole numbers is -⌊(start - end) / step⌋.
        let count = match dtype.is_float() {
            true => {
                let ends = [
                    self.emit(Cast { dtype: DType::F64 }, &[end])?,
                    self.emit(Cast { dtype: DType::F64 }, &[start])?,
                ];
                let length = self.binary(BinaryKind::Sub, ends[0], ends[1])?;
                let step = self.emit(Cast { dtype: DType::F64 }, &[step])?;
                let count = self.binary(BinaryKind::Div, length, step)?;
                self.emit(Unary::of(UnaryKind::Ceil), &[count])?
            }
            false => {
                let back = self.binary(BinaryKind::Sub, start, end)?;
                let back = self.binary(BinaryKind::FloorDiv, back, step)?;
                self.scaled(back, -1.0, 0.0)?
            }
        };
        let count = self.emit(Cast { dtype: DType::I64 }, &[count])?;
        let numbers = self.numbers_before(count, "range")?;
        let numbers = self.emit(Cast { dtype }, &[numbers])?;
        let numbers = self.binary(BinaryKind::Mul, numbers, step)?;
        self.binary(BinaryKind::Add, numbers, start).map(Some)
    }
}
