//! Rules for rows that a mask parts, and that come together again.

use crate::convert::draft::At;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{BinaryKind, Cast, Concat, CumSum, Gather, Not, Reduce, ReduceKind, Select};
use crate::program::{DType, VarId};

impl At<'_> {
    /// A mask of rows as a list of truth values. `None` if it has rows.
    fn mask_of_rows(&mut self, mask: VarId) -> Result<Option<VarId>, Fault> {
        let ty = self.ty(mask).clone();
        if ty.rows.is_some() || ty.dtype != DType::Bool || ty.dims.is_empty() {
            return Ok(None);
        }
        let dims = vec![crate::convert::types::product(&ty.dims)?];
        self.shaped(mask, dims).map(Some)
    }
}

impl Reading<'_, '_> {
    /// The rows where a mask holds, and the others.
    pub(super) fn split_by_mask(&mut self) -> Result<bool, ConvertError> {
        let (x, mask, desc) = (self.input("X")?, self.input("Mask")?, self.desc);
        if self.ty(x).rows.is_some() {
            return Ok(false);
        }
        let Some(mask) = self.at().mask_of_rows(mask)? else { return Ok(false) };
        let others = self.emit(Not, &[mask])?;
        for (slot, mask) in [("OutTrue", mask), ("OutFalse", others)] {
            let Some(places) = self.at().flat_places_where(mask)? else { return Ok(false) };
            let part = self.emit(Gather { axis: 0 }, &[x, places])?;
            self.named_value(one(desc.output(slot), slot)?, part)?;
        }
        Ok(true)
    }

    /// The rows of one value where a mask holds, those of another one elsewhere, both in their order.
    pub(super) fn merge_by_mask(&mut self) -> Result<bool, ConvertError> {
        let (parts, mask) = ([self.input("InTrue")?, self.input("InFalse")?], self.input("Mask")?);
        let mut at = self.at();
        let Some(mask) = at.mask_of_rows(mask)? else { return Ok(false) };
        let mut table = Vec::new();
        for part in parts {
            table.push(if at.ty(part).rows.is_some() { at.rows_to_axis(part)? } else { part });
        }
        let table = at.emit(Concat { axis: 0 }, &table)?;
        // How many rows of the same kind are in front of each.
        let before = |mask: VarId, at: &mut At<'_>| {
            let ones = at.emit(Cast { dtype: DType::I64 }, &[mask])?;
            let before = at.emit(CumSum { axis: 0, exclusive: true, reverse: false }, &[ones])?;
            Ok::<_, Fault>((ones, before))
        };
        let others = at.emit(Not, &[mask])?;
        let ((ones, own), (_, other)) = (before(mask, &mut at)?, before(others, &mut at)?);
        let count = at.emit(Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false }, &[ones])?;
        let other = at.binary(BinaryKind::Add, other, count)?;
        let place = at.emit(Select, &[mask, own, other])?;
        self.out(Gather { axis: 0 }, &[table, place])
    }
}
