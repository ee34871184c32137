//! Rules for operators that keep some of the boxes that overlap.

use crate::convert::derived::float;
use crate::convert::draft::{At, Keeping, Kept};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{
    AxisToRows, BinaryKind, Cast, Compare, CompareKind, DecayedScores, Fill, Gather, NonMaxSuppression,
    Number, RowNumbers, SequencePad, SequenceRange, Transpose,
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
        if [self.limit("nms_top_k")?, self.limit("keep_top_k")?].contains(&Some(0)) {
            return self.lacks("it keeps no box");
        }
        let of_images = match (self.ty(boxes).rank(), self.ty(scores).rank()) {
            (3, 3) => self.boxes_of_all(boxes, scores)?,
            (3, 2) => self.boxes_of_sequences(boxes, scores)?,
            _ => None,
        };
        let Some(OfImages { boxes, scores, numbering }) = of_images else {
            return self.lacks("it is not known how many images there are, or which boxes they have");
        };
        let Some(kept) = keep(&mut self.at(), boxes, scores)? else {
            return self.lacks("the number of classes is not known, or too large");
        };
        self.named_value(one(desc.output("Out"), "Out")?, kept.boxes)?;
        if let [name] = desc.output("Index") {
            let mut at = self.at();
            let index = at.number_in_batch(&kept, numbering)?;
            let index = at.emit(Cast { dtype: DType::I32 }, &[index])?;
            let index = at.shaped(index, vec![Dim::from(1)])?;
            self.named_value(name, index)?;
        }
        if let [name] = desc.output(counts) {
            let counts = self.emit(Cast { dtype: DType::I32 }, &[kept.counts])?;
            self.named_value(name, counts)?;
        }
        Ok(true)
    }

    /// Each image has as many boxes.
    fn boxes_of_all(&mut self, boxes: VarId, scores: VarId) -> Result<Option<OfImages>, Fault> {
        let count = self.reader.draft.program.shape(self.ty(boxes))[1].clone();
        let mut at = self.at();
        let (Some(boxes), Some(scores)) = (at.along_rows(boxes)?, at.along_rows(scores)?) else {
            return Ok(None);
        };
        let Some(rows) = at.ty(boxes).rows else { return Ok(None) };
        let row = at.emit(RowNumbers::of(rows), &[])?;
        let count = at.size_as(&count, DType::I64)?;
        let count = at.shaped(count, Vec::new())?;
        let first = at.binary(BinaryKind::Mul, row, count)?;
        Ok(Some(OfImages { boxes, scores, numbering: Numbering { first, classes: None } }))
    }

    /// The boxes of all images follow each other: an image has as many as `RoisNum` says, or as its sequence has. Each class has its
    /// own.
    fn boxes_of_sequences(&mut self, boxes: VarId, scores: VarId) -> Result<Option<OfImages>, ConvertError> {
        let counts = if self.has(&["RoisNum"]) { Some(self.input("RoisNum")?) } else { None };
        let mut at = self.at();
        let Some([boxes, scores]) = at.sequences_of([boxes, scores], counts)? else { return Ok(None) };
        let Some(classes) = at.ty(scores).dims.first().and_then(Dim::constant) else { return Ok(None) };
        let [_, first] = self.lengths_and_starts(boxes)?;
        let length = self.longest_of(boxes)?;
        let mut at = self.at();
        let Some(rows) = at.ty(boxes).rows.and_then(|rows| at.draft.program.rows_of_sequences(rows)) else {
            return Ok(None);
        };
        let like = at.emit(RowNumbers::of(rows), &[])?;
        let first = at.emit(AxisToRows, &[first, like])?;
        let boxes = at.emit(SequencePad { length: length.clone(), pad_value: 0.0 }, &[boxes])?;
        let boxes = at.emit(Transpose { perm: vec![0, 2, 1, 3] }, &[boxes])?;
        // What fills up is below every threshold.
        let scores = at.emit(SequencePad { length, pad_value: f64::NEG_INFINITY }, &[scores])?;
        let scores = at.emit(Transpose { perm: vec![0, 2, 1] }, &[scores])?;
        Ok(Some(OfImages { boxes, scores, numbering: Numbering { first, classes: Some(classes) } }))
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

/// Boxes and scores of images, `[images, ..]`.
struct OfImages {
    boxes: VarId,
    scores: VarId,
    numbering: Numbering,
}

/// How boxes are counted through all images.
struct Numbering {
    /// The number of the first box of each image.
    first: VarId,
    /// How many boxes a number counts, if each class has its own.
    classes: Option<i64>,
}

impl At<'_> {
    /// The numbers of the boxes that are kept among those of all images.
    fn number_in_batch(&mut self, kept: &Kept, numbering: Numbering) -> Result<VarId, Fault> {
        let first = self.for_tokens(numbering.first, kept.numbers)?;
        let number = self.binary(BinaryKind::Add, kept.numbers, first)?;
        let Some(classes) = numbering.classes else { return Ok(number) };
        let class = self.part(kept.boxes, 1, 0, 1)?;
        let class = self.shaped(class, Vec::new())?;
        let class = self.emit(Cast { dtype: DType::I64 }, &[class])?;
        let number = self.scaled(number, classes as f64, 0.0)?;
        self.binary(BinaryKind::Add, number, class)
    }

    /// Values as sequences, each of which has as many tokens as `counts` says. Without counts they have to be sequences of the same
    /// rows already.
    pub(super) fn sequences_of<const N: usize>(
        &mut self,
        values: [VarId; N],
        counts: Option<VarId>,
    ) -> Result<Option<[VarId; N]>, Fault> {
        let mut values = values;
        let Some(counts) = counts else {
            for k in 0..N {
                match self.tokens_as(values[k], values[0])? {
                    Some(tokens) => values[k] = tokens,
                    None => return Ok(None),
                }
            }
            return Ok(
                Some(values).filter(|values| !self.draft.program.levels(self.ty(values[0])).is_empty())
            );
        };
        let Some(counts) = self.along_rows(counts)? else { return Ok(None) };
        let counts = self.shaped(counts, Vec::new())?;
        let counts = self.as_kind(counts, DType::I64)?;
        let Some(rows) = self.ty(counts).rows else { return Ok(None) };
        let rows = self.draft.program.create_tokens("boxes", rows);
        self.emit(SequenceRange { rows }, &[counts])?;
        let number = self.emit(RowNumbers::of(rows), &[])?;
        for value in &mut values {
            let all = self.as_list(*value)?;
            *value = self.emit(Gather { axis: 0 }, &[all, number])?;
        }
        Ok(Some(values))
    }
}
