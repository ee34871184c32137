//! Sequences that are fed apart from each other, such as words and their marks, and that an operator takes as one.

use super::operator::Reading;
use super::rules::Rule;
use crate::convert::draft::At;
use crate::convert::error::{ConvertError, Fault};
use crate::ops::{Gather, RowNumbers, RowsToAxis, SequenceAlign};
use crate::program::{BuildError, MismatchKind, VarId};

impl Reading<'_, '_> {
    /// Reads the operator by its rule. If its inputs are tokens of several sequences, all are read as those of the first one, as
    /// PaddlePaddle takes them.
    pub(super) fn side_by_side(&mut self, rule: Rule) -> Result<bool, ConvertError> {
        let before = self.reader.draft.program.mark(self.id());
        let result = rule(self);
        let differ = match &result {
            Ok(_) => false,
            Err(error) => matches!(
                &error.fault,
                Fault::Build(BuildError::Mismatch(mismatch)) if mismatch.kind == MismatchKind::Rows
            ),
        };
        if !differ {
            return result;
        }
        self.reader.take_back(before);
        let lack = self.lack.take();
        if let Ok(true) = self.align()
            && let Ok(true) = rule(self)
        {
            return Ok(true);
        }
        self.reader.take_back(before);
        self.lack = lack;
        self.aligned.clear();
        result
    }

    /// From now on, tokens are read as those of the first input that has some. False if there are no others.
    fn align(&mut self) -> Result<bool, Fault> {
        let mut first = None;
        for name in self.desc.inputs.iter().flat_map(|slot| &slot.arguments) {
            let Ok(value) = self.read(name) else { continue };
            if !self.is_whole(value) {
                continue;
            }
            let like = *first.get_or_insert(value);
            if let Some(aligned) = self.at().tokens_as(value, like)?.filter(|&aligned| aligned != value) {
                self.aligned.insert(value, aligned);
            }
        }
        Ok(!self.aligned.is_empty())
    }
}

impl At<'_> {
    /// Tokens as those of another value, which has as many. `None` if they are on other levels, or belong to other rows.
    pub(super) fn tokens_as(&mut self, value: VarId, like: VarId) -> Result<Option<VarId>, Fault> {
        let program = &self.draft.program;
        let (own, to) = (self.ty(value), self.ty(like));
        if own.rows == to.rows {
            return Ok(Some(value));
        }
        let levels = [program.levels(own), program.levels(to)];
        let outermost = |levels: &Vec<_>| program.rows_of_whole_sequences(*levels.first()?);
        let [rows, of] = levels.each_ref().map(outermost);
        if rows.is_none() || rows != of || levels[0].len() != levels[1].len() {
            return Ok(None);
        }
        if levels[0].len() == 1 {
            return self.emit(SequenceAlign, &[value, like]).map(Some);
        }
        let Some(rows) = to.rows else { return Ok(None) };
        let all = self.emit(RowsToAxis, &[value])?;
        let number = self.emit(RowNumbers::of(rows), &[])?;
        self.emit(Gather { axis: 0 }, &[all, number]).map(Some)
    }
}
