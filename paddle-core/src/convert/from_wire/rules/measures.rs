//! Rules for measures of sequences: how far ids are from others, and how many chunks are right. Sequences may be padded, with their lengths.

use super::padded_sequences::{LACK, Unpadded};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{
    Binary, BinaryKind, Cast, ChunkEval, EditDistance, Reshape, RowsToAxis, SequenceLength, Size, Slice,
};
use crate::program::{DType, Dim, VarId};

impl Reading<'_, '_> {
    /// The ids in a slot as sequences; if they are padded, `lengths` has the lengths.
    fn ids_of(
        &mut self,
        slot: &'static str,
        lengths: &'static str,
        name: &str,
    ) -> Result<Option<Unpadded>, ConvertError> {
        let ids = self.input(slot)?;
        let ids = self.emit(Cast { dtype: DType::I64 }, &[ids])?;
        if !self.has(&[lengths]) {
            return Ok(self.ty(ids).rows.filter(|_| self.rows_of(ids).is_some()).map(|tokens| Unpadded {
                tokens,
                value: ids,
                is_fixed: false,
            }));
        }
        let lengths = self.input(lengths)?;
        let mut at = self.at();
        // An id may have a dimension of its own.
        let mut dims = at.draft.program.shape(at.ty(ids));
        if dims.len() == 3 && dims[2] == Dim::from(1) {
            dims.truncate(2);
        }
        if dims.len() != 2 {
            return Ok(None);
        }
        let rows = usize::from(at.ty(ids).rows.is_some());
        let ids = at.shaped(ids, dims.split_off(rows))?;
        Ok(at.unpadded(ids, lengths, name)?)
    }

    pub(super) fn edit_distance(&mut self) -> Result<bool, ConvertError> {
        let desc = self.desc;
        let is_normalized = self.bool("normalized", false)?;
        let found = self.ids_of("Hyps", "HypsLength", "hypotheses")?;
        let right = self.ids_of("Refs", "RefsLength", "references")?;
        let (Some(found), Some(right)) = (found, right) else { return self.lacks(LACK) };
        let mut at = self.at();
        let mut out = at.emit(EditDistance, &[found.value, right.value])?;
        if is_normalized {
            let length = at.emit(SequenceLength, &[right.value])?;
            let length = at.emit(Cast { dtype: DType::F32 }, &[length])?;
            let length = at.shaped(length, vec![Dim::from(1)])?;
            out = at.binary(BinaryKind::Div, out, length)?;
        }
        let count = at.emit(Size { axes: Vec::new() }, &[out])?;
        let count = at.emit(Cast { dtype: DType::I64 }, &[count])?;
        let count = at.emit(Reshape { dims: vec![Dim::from(1)] }, &[count])?;
        let out = if found.is_fixed { at.emit(RowsToAxis, &[out])? } else { out };
        self.named_value(one(desc.output("Out"), "Out")?, out)?;
        if let [name] = desc.output("SequenceNum") {
            self.named_value(name, count)?;
        }
        Ok(true)
    }

    pub(super) fn chunk_eval(&mut self) -> Result<bool, ConvertError> {
        let op: ChunkEval = self.attributes_of()?;
        let found = self.ids_of("Inference", "SeqLength", "found")?;
        let right = self.ids_of("Label", "SeqLength", "right")?;
        let (Some(found), Some(right)) = (found, right) else { return self.lacks(LACK) };
        let counts = self.emit(op, &[found.value, right.value])?;
        let count =
            |of: i64| Slice { axes: vec![0], starts: vec![of], ends: vec![of + 1], strides: Vec::new() };
        let [found, right, both] = [
            self.emit(count(0), &[counts])?,
            self.emit(count(1), &[counts])?,
            self.emit(count(2), &[counts])?,
        ];
        for (slot, value) in
            [("NumInferChunks", found), ("NumLabelChunks", right), ("NumCorrectChunks", both)]
        {
            self.named(slot, value)?;
        }
        let all = self.emit(Binary { kind: BinaryKind::Add }, &[found, right])?;
        let twice = self.emit(Binary { kind: BinaryKind::Add }, &[both, both])?;
        for (slot, parts) in
            [("Precision", [both, found]), ("Recall", [both, right]), ("F1-Score", [twice, all])]
        {
            let share = self.share(parts)?;
            self.named(slot, share)?;
        }
        Ok(true)
    }

    /// The quotient of two numbers of chunks; 0 if there are none.
    fn share(&mut self, [part, all]: [VarId; 2]) -> Result<VarId, Fault> {
        let mut at = self.at();
        let one = at.number(1.0, DType::I64)?;
        let all = at.binary(BinaryKind::Max, all, one)?;
        let part = at.emit(Cast { dtype: DType::F32 }, &[part])?;
        let all = at.emit(Cast { dtype: DType::F32 }, &[all])?;
        at.binary(BinaryKind::Div, part, all)
    }

    /// Makes a value that of the variable in a slot, if there is one.
    fn named(&mut self, slot: &str, value: VarId) -> Result<(), ConvertError> {
        if let [name] = self.desc.output(slot) {
            self.named_value(name, value)?;
        }
        Ok(())
    }
}
