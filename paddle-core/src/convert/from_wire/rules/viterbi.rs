//! The rule for `viterbi_decode`: the decoding of a conditional random field from padded sequences, with the score of what is found.

use super::padded_sequences::LACK;
use crate::convert::draft::At;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{
    BinaryKind, Compare, CompareKind, Concat, CrfDecoding, Fill, Gather, Number, PoolType, Select,
    SequencePad, SequencePool, SequenceWindow, TakeAlongAxis,
};
use crate::program::{Dim, Type, VarId};

impl Reading<'_, '_> {
    /// `Path` is padded with zeros, to the longest sequence; `Scores` are those of the paths.
    pub(super) fn viterbi_decode(&mut self) -> Result<bool, ConvertError> {
        let (emission, matrix, length) =
            (self.input("Input")?, self.input("Transition")?, self.input("Length")?);
        let has_ends = self.bool("include_bos_eos_tag", true)?;
        let desc = self.desc;
        let known = match (self.ty(matrix).rows, &self.ty(matrix).dims[..]) {
            (None, [labels, _]) => labels.constant(),
            _ => None,
        };
        let Some(labels) = known.filter(|&labels| !has_ends || labels >= 2) else {
            return self
                .lacks("the number of its labels is not known, or there are not two that start and end");
        };
        let mut at = self.at();
        if at.draft.program.shape(at.ty(emission)).len() != 3 {
            return self.lacks("its values have other dimensions");
        }
        let Some(emission) = at.unpadded(emission, length, "emission")? else { return self.lacks(LACK) };
        let transition = at.with_ends(matrix, labels, has_ends)?;
        let path = at.emit(CrfDecoding, &[emission.value, transition])?;
        let path = at.shaped(path, Vec::new())?;
        let score = at.score_of(path, emission.value, transition, labels)?;
        let score = at.of_batch(score, &emission)?;
        let longest = self.longest_of(path)?;
        let mut at = self.at();
        let path = at.emit(SequencePad { length: longest, pad_value: 0.0 }, &[path])?;
        let path = at.of_batch(path, &emission)?;
        self.named_value(one(desc.output("Scores"), "Scores")?, score)?;
        self.named_value(one(desc.output("Path"), "Path")?, path)
    }
}

impl At<'_> {
    /// The matrix as [`CrfDecoding`] has it: first what each label counts as the first one and as the last one. These are
    /// the last row and the one before it, or zeros.
    fn with_ends(&mut self, matrix: VarId, labels: i64, has_ends: bool) -> Result<VarId, Fault> {
        let (start, end) = match has_ends {
            true => (self.part(matrix, 0, labels - 1, 1)?, self.part(matrix, 0, labels - 2, 1)?),
            false => {
                let zeros = Fill::zeros(Type::new(self.ty(matrix).dtype, [1, labels]));
                let zeros = self.emit(zeros, &[])?;
                (zeros, zeros)
            }
        };
        self.emit(Concat { axis: 0 }, &[start, end, matrix])
    }

    /// What the labels of each sequence count together: for each token its label, and the step to it from the label before,
    /// or from the start; for the last one the end, too. What is forbidden may count -∞, so nothing is multiplied
    /// by 0.
    fn score_of(
        &mut self,
        path: VarId,
        emission: VarId,
        transition: VarId,
        labels: i64,
    ) -> Result<VarId, Fault> {
        let dtype = self.ty(emission).dtype;
        // Row 0 of `transition` is the start, and those of the labels begin with row 2.
        let before = self.scaled(path, 1.0, 2.0)?;
        let before = self.emit(SequenceWindow { start: -1, length: 1, pad_value: 0.0 }, &[before])?;
        let before = self.shaped(before, Vec::new())?;
        let steps = self.emit(Gather { axis: 0 }, &[transition, before])?;

        let counted = self.binary(BinaryKind::Add, emission, steps)?;
        let column = self.shaped(path, vec![Dim::from(1)])?;
        let counted = self.emit(TakeAlongAxis { axis: 1 }, &[counted, column])?;

        let of_tokens = Type { rows: self.ty(path).rows, ..Type::new(dtype, [1]) };
        let ones = self.emit(Fill { value: Number::Float(1.0), ty: of_tokens }, &[])?;
        let next = self.emit(SequenceWindow { start: 1, length: 1, pad_value: 0.0 }, &[ones])?;
        let zero = self.number(0.0, dtype)?;
        let is_last = self.emit(Compare { kind: CompareKind::Equal }, &[next, zero])?;
        let end = self.part(transition, 0, 1, 1)?;
        let end = self.shaped(end, vec![Dim::from(labels)])?;
        let end = self.emit(Gather { axis: 0 }, &[end, path])?;
        let end = self.shaped(end, vec![Dim::from(1)])?;
        let end = self.emit(Select, &[is_last, end, zero])?;
        let each = self.binary(BinaryKind::Add, counted, end)?;
        let score = self.emit(SequencePool { pooltype: PoolType::Sum, pad_value: 0.0 }, &[each])?;
        self.shaped(score, Vec::new())
    }
}
