//! Rules for operators that work along sequences, in the form in which these are padded, and their lengths are an input. They
//! become sequences.

use crate::convert::draft::At;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::compositions::by_times;
use crate::ops::{
    Cast, Compare, CompareKind, CrfDecoding, LinearChainCrf, Reshape, RowsToAxis, SequencePad, WarpCtc,
    made_sequences,
};
use crate::program::{DType, Dim, RowsId, VarId};

/// Sequences that were padded.
pub(super) struct Unpadded {
    /// The row space of their tokens.
    pub(super) tokens: RowsId,
    /// A value whose tokens these are.
    pub(super) value: VarId,
    /// Whether the rows are those of a batch of fixed size, which other operators do not know.
    pub(super) is_fixed: bool,
}

impl At<'_> {
    /// The tokens of padded sequences, of which `length` has the lengths. `None` if it is not known how many there are.
    pub(super) fn unpadded(
        &mut self,
        x: VarId,
        length: VarId,
        name: &str,
    ) -> Result<Option<Unpadded>, Fault> {
        let is_fixed = self.ty(x).rows.is_none();
        let (Some(x), Some(length)) = (self.along_rows(x)?, self.along_rows(length)?) else {
            return Ok(None);
        };
        let Some(rows) = self.ty(x).rows.filter(|_| self.ty(x).rows == self.ty(length).rows) else {
            return Ok(None);
        };
        let length = self.emit(Cast { dtype: DType::I64 }, &[length])?;
        let length = self.shaped(length, Vec::new())?;
        let tokens = self.draft.program.create_tokens(name, rows);
        let value = made_sequences::unpad((x, tokens), length, |op, inputs| self.emit(op, inputs))?;
        Ok(Some(Unpadded { tokens, value, is_fixed }))
    }

    /// A value with the rows of sequences, as others know it.
    pub(super) fn of_batch(&mut self, value: VarId, sequences: &Unpadded) -> Result<VarId, Fault> {
        if sequences.is_fixed { self.emit(RowsToAxis, &[value]) } else { Ok(value) }
    }
}

/// What all of these operators need.
pub(super) const LACK: &str = "the number of sequences is not known, or others have the lengths";

impl<'a> Reading<'_, 'a> {
    /// Losses of logits, `[steps, sequences, classes]`, and labels, `[sequences, labels]`.
    pub(super) fn padded_warpctc(&mut self) -> Result<bool, ConvertError> {
        let (logits, label, desc) = (self.input("Logits")?, self.input("Label")?, self.desc);
        let lengths = [self.input("LogitsLength")?, self.input("LabelLength")?];
        let is_read = desc.output("WarpCTCGrad").iter().any(|name| self.reader.readers(name) > 0);
        if self.ty(logits).rank() != 3 || self.ty(label).rank() != 2 || is_read {
            return self.lacks("its values have other dimensions, or its gradient is read");
        }
        let op: WarpCtc = self.attributes_of()?;
        let is_by_times = self.bool("norm_by_times", false)?;
        let mut at = self.at();
        let logits = at.permuted(logits, &[1, 0, 2])?;
        let logits = at.with_rows(logits)?;
        let label = at.emit(Cast { dtype: DType::I64 }, &[label])?;
        let logits = at.unpadded(logits, lengths[0], "logits")?;
        let label = at.unpadded(label, lengths[1], "labels")?;
        let (Some(logits), Some(label)) = (logits, label) else { return self.lacks(LACK) };
        let mut loss = at.emit_all(op, &[logits.value, label.value], 2)?[0];
        if is_by_times {
            let dtype = at.ty(logits.value).dtype;
            loss = by_times(loss, (logits.value, dtype), |op, inputs| at.emit(op, inputs))?;
        }
        let loss = at.of_batch(loss, &logits)?;
        self.named_value(one(desc.output("Loss"), "Loss")?, loss)
    }

    pub(super) fn padded_crf(&mut self) -> Result<bool, ConvertError> {
        let (emission, transition) = (self.input("Emission")?, self.input("Transition")?);
        let (label, length, desc) = (self.input("Label")?, self.input("Length")?, self.desc);
        let others = ["Alpha", "EmissionExps", "TransitionExps"].iter().flat_map(|slot| desc.output(slot));
        if self.ty(emission).rank() != 3 || others.into_iter().any(|name| self.reader.readers(name) > 0) {
            return self.lacks("its values have other dimensions, or what it computes in between is read");
        }
        let mut at = self.at();
        let emission = at.unpadded(emission, length, "emission")?;
        let Some(emission) = emission else { return self.lacks(LACK) };
        let Some(label) = at.tokens_like(label, &emission)? else { return self.lacks(LACK) };
        let loss = at.emit_all(LinearChainCrf, &[emission.value, transition, label], 2)?[1];
        let loss = at.of_batch(loss, &emission)?;
        self.named_value(one(desc.output("LogLikelihood"), "LogLikelihood")?, loss)
    }

    /// Padded again, with zeros. With labels, the result says where they equal the decoded ones.
    pub(super) fn padded_decoding(&mut self) -> Result<bool, ConvertError> {
        let (emission, transition) = (self.input("Emission")?, self.input("Transition")?);
        let (length, desc) = (self.input("Length")?, self.desc);
        let label = if self.has(&["Label"]) { Some(self.input("Label")?) } else { None };
        let shape = self.reader.draft.program.shape(self.ty(emission));
        let [_, longest, _] = &shape[..] else { return self.lacks("its values have other dimensions") };
        let mut at = self.at();
        let Some(emission) = at.unpadded(emission, length, "emission")? else { return self.lacks(LACK) };
        let mut path = at.emit(CrfDecoding, &[emission.value, transition])?;
        if let Some(label) = label {
            let Some(label) = at.tokens_like(label, &emission)? else { return self.lacks(LACK) };
            let is_right = at.emit(Compare { kind: CompareKind::Equal }, &[path, label])?;
            path = at.emit(Cast { dtype: DType::I64 }, &[is_right])?;
        }
        let path = at.emit(Reshape { dims: Vec::new() }, &[path])?;
        let path = at.emit(SequencePad { length: longest.clone(), pad_value: 0.0 }, &[path])?;
        let path = at.of_batch(path, &emission)?;
        self.named_value(one(desc.output("ViterbiPath"), "ViterbiPath")?, path)
    }
}

impl At<'_> {
    /// Labels, one for each place, as a column of the tokens of sequences.
    fn tokens_like(&mut self, label: VarId, sequences: &Unpadded) -> Result<Option<VarId>, Fault> {
        let Some(label) = self.along_rows(label)? else { return Ok(None) };
        let Some(places) = self.ty(label).dims.first().cloned() else { return Ok(None) };
        if self.ty(label).rows != self.draft.program.row_space(sequences.tokens).parent {
            return Ok(None);
        }
        let label = self.emit(Cast { dtype: DType::I64 }, &[label])?;
        let label = self.shaped(label, vec![places, Dim::from(1)])?;
        self.emit(crate::ops::SequenceUnpad, &[label, sequences.value]).map(Some)
    }
}
