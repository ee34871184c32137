//! Rules for operators that keep some of the boxes that overlap.

use crate::convert::derived::float;
use crate::convert::draft::{At, Keeping, Kept};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{
    BinaryKind, Cast, Compare, CompareKind, DecayedScores, Fill, NonMaxSuppression, Number, RowNumbers,
};
use crate::program::{DType, Dim, Type, VarId};

impl<'a> Reading<'_, 'a> {
    /// A limit on a number of boxes: there is none if it is negative.
    fn limit(&self, attribute: &'static str) -> Result<Option<i64>, Fault> {
        Ok(self.desc.attr_long(attribute)?.filter(|&limit| limit >= 0))
    }

    /// Suppression class by class. The boxes of all classes that are kept follow each other, row by row.
    pub(super) fn multiclass_nms(&mut self) -> Result<bool, ConvertError> {
        let [candidates, most] = [self.limit("nms_top_k")?, self.limit("keep_top_k")?];
        let suppression = NonMaxSuppression {
            score_threshold: float(self.desc, "score_threshold")?.unwrap_or(0.0),
            overlap_threshold: float(self.desc, "nms_threshold")?.unwrap_or(0.3),
            eta: float(self.desc, "nms_eta")?.unwrap_or(1.0),
            candidates: candidates.unwrap_or(-1),
            most: -1,
            normalized: self.bool("normalized", true)?,
            empty_overlap: true,
        };
        let keeping = Keeping {
            suppression,
            background: Some(self.desc.attr_long("background_label")?.unwrap_or(0)),
            most,
            never_empty: self.desc.r#type == "multiclass_nms",
        };
        self.keep_boxes("NmsRoisNum", |at, boxes, scores| at.kept_boxes(boxes, scores, &keeping))
    }

    /// The boxes with the highest scores, where scores are lower the more better boxes overlap.
    pub(super) fn matrix_nms(&mut self) -> Result<bool, ConvertError> {
        let [candidates, most] = [self.limit("nms_top_k")?, self.limit("keep_top_k")?];
        let decay = DecayedScores {
            score_threshold: float(self.desc, "score_threshold")?.unwrap_or(0.0),
            least: float(self.desc, "post_threshold")?.unwrap_or(0.0),
            candidates: candidates.unwrap_or(-1),
            gaussian: self.bool("use_gaussian", false)?,
            sigma: float(self.desc, "gaussian_sigma")?.unwrap_or(2.0),
            normalized: self.bool("normalized", true)?,
        };
        let background = Some(self.desc.attr_long("background_label")?.unwrap_or(0));
        self.keep_boxes("RoisNum", |at, boxes, scores| {
            at.boxes_of_highest(boxes, scores, decay, background, most)
        })
    }

    /// Keeps some of the boxes of each row; the counts go to the slot `counts`.
    fn keep_boxes(
        &mut self,
        counts: &'static str,
        keep: impl FnOnce(&mut At<'_>, VarId, VarId) -> Result<Option<Kept>, Fault>,
    ) -> Result<bool, ConvertError> {
        let (boxes, scores, desc) = (self.input("BBoxes")?, self.input("Scores")?, self.desc);
        if self.ty(boxes).rank() != 3 || self.ty(scores).rank() != 3 || self.has(&["RoisNum"]) {
            return self.lacks("it is about boxes of sequences");
        }
        if [self.limit("nms_top_k")?, self.limit("keep_top_k")?].contains(&Some(0)) {
            return self.lacks("it keeps no box");
        }
        let count = self.reader.draft.program.shape(self.ty(boxes))[1].clone();
        let mut at = self.at();
        let (Some(boxes), Some(scores)) = (at.along_rows(boxes)?, at.along_rows(scores)?) else {
            return self.lacks("the number of images is not known");
        };
        let Some(kept) = keep(&mut at, boxes, scores)? else {
            return self.lacks("the number of classes is not known, or too large");
        };
        self.named_value(one(desc.output("Out"), "Out")?, kept.boxes)?;
        if let [name] = desc.output("Index") {
            let index = self.number_in_batch(kept.numbers, boxes, &count)?;
            let index = self.emit(Cast { dtype: DType::I32 }, &[index])?;
            let index = self.at().shaped(index, vec![Dim::from(1)])?;
            self.named_value(name, index)?;
        }
        if let [name] = desc.output(counts) {
            let counts = self.emit(Cast { dtype: DType::I32 }, &[kept.counts])?;
            self.named_value(name, counts)?;
        }
        Ok(true)
    }

    /// The numbers of boxes among those of all rows, each of which has so many.
    fn number_in_batch(&mut self, numbers: VarId, boxes: VarId, count: &Dim) -> Result<VarId, Fault> {
        let Some(rows) = self.ty(boxes).rows else { return Ok(numbers) };
        let mut at = self.at();
        let row = at.emit(RowNumbers::of(rows), &[])?;
        let count = at.size_as(count, DType::I64)?;
        let count = at.shaped(count, Vec::new())?;
        let first = at.binary(BinaryKind::Mul, row, count)?;
        let first = at.for_tokens(first, numbers)?;
        at.binary(BinaryKind::Add, numbers, first)
    }

    /// Suppression of boxes in the order in which they are.
    pub(super) fn nms(&mut self) -> Result<bool, ConvertError> {
        let boxes = self.input("Boxes")?;
        let suppression = NonMaxSuppression {
            score_threshold: 0.0,
            overlap_threshold: float(self.desc, "iou_threshold")?.unwrap_or(1.0),
            eta: 1.0,
            candidates: -1,
            most: -1,
            normalized: true,
            empty_overlap: false,
        };
        let ty = self.ty(boxes).clone();
        let ([count, _], None) = (&ty.dims[..], ty.rows) else { return Ok(false) };
        let mut at = self.at();
        let scores = Type { dims: vec![Dim::from(1), count.clone()], ..ty.clone() };
        let scores = at.emit(Fill { value: Number::Float(1.0), ty: scores }, &[])?;
        let (boxes, scores) = (at.as_only_row(boxes)?, at.as_only_row(scores)?);
        let chosen = at.emit(suppression, &[boxes, scores])?;
        let chosen = at.shaped(chosen, vec![count.clone()])?;
        let zero = at.number(0.0, DType::I64)?;
        let is_kept = at.emit(Compare { kind: CompareKind::GreaterEqual }, &[chosen, zero])?;
        let counts = at.count_of(is_kept)?;
        let Some(kept) = at.first_of_each(chosen, counts, "kept")? else { return Ok(false) };
        let desc = self.desc;
        self.named_value(one(desc.output("KeepBoxesIdxs"), "KeepBoxesIdxs")?, kept)
    }
}
