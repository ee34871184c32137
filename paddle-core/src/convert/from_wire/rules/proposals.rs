//! The rule for the boxes that the first stage of a detector proposes: Ren et al., "Faster R-CNN", 2015, section 3.1.

use crate::convert::derived::float;
use crate::convert::draft::Keeping;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::types::product;
use crate::ops::{
    BinaryKind, Cast, Compare, CompareKind, Gather, Logical, LogicalKind, NonMaxSuppression, Select, TopK,
    Transpose,
};
use crate::program::{DType, Dim, Type, VarId};

/// What is below all scores that count.
const LOWEST: f64 = -1e30;

impl Reading<'_, '_> {
    /// The best anchors, moved, and cut off at the image; of those that are large enough, the ones that suppression keeps.
    pub(super) fn generate_proposals(&mut self) -> Result<bool, ConvertError> {
        let [scores, deltas, image, anchors, spread] =
            ["Scores", "BboxDeltas", "ImShape", "Anchors", "Variances"].map(|slot| self.input(slot));
        let (scores, deltas, image, anchors, spread) = (scores?, deltas?, image?, anchors?, spread?);
        let number = |name, default| Ok::<_, Fault>(self.desc.attr_long(name)?.unwrap_or(default));
        let (candidates, most) = (number("pre_nms_topN", 6000)?, number("post_nms_topN", 1000)?);
        let least = float(self.desc, "min_size")?.unwrap_or(0.1).max(1.0);
        let has_offset = self.bool("pixel_offset", true)?;
        let pixel = if has_offset { 1.0 } else { 0.0 };
        let suppression = NonMaxSuppression {
            score_threshold: LOWEST,
            overlap_threshold: float(self.desc, "nms_thresh")?.unwrap_or(0.5),
            eta: float(self.desc, "eta")?.unwrap_or(1.0),
            candidates: -1,
            most: if most > 0 { most } else { -1 },
            normalized: !has_offset,
            empty_overlap: false,
        };
        if suppression.overlap_threshold <= 0.0 {
            return self.lacks("it suppresses nothing");
        }
        let mut at = self.at();
        let all = [at.along_rows(scores)?, at.along_rows(deltas)?, at.along_rows(image)?];
        let [Some(scores), Some(deltas), Some(image)] = all else {
            return self.lacks("the number of images is not known");
        };
        let dims = at.ty(scores).dims.clone();
        let [each, height, width] = &dims[..] else {
            return self.lacks("its scores have no height and width");
        };
        let Some(count) = product(&dims)?.constant() else {
            return self.lacks("the number of its anchors is not known");
        };
        // Scores and moves in the order of the anchors: line by line, and at each place its anchors.
        let turned = at.emit(Transpose { perm: vec![0, 2, 3, 1] }, &[scores])?;
        let flat = at.shaped(turned, vec![Dim::from(count)])?;
        let moves = at.shaped(deltas, vec![each.clone(), Dim::from(4), height.clone(), width.clone()])?;
        let moves = at.emit(Transpose { perm: vec![0, 3, 4, 1, 2] }, &[moves])?;
        let moves = at.shaped(moves, vec![Dim::from(count), Dim::from(4)])?;
        let k = if candidates > 0 { candidates.min(count) } else { count };
        let best = at.emit_all(TopK { k: Some(k), axis: 1, largest: true }, &[flat], 2)?;
        let (score, number) = (best[0], best[1]);
        let mut of_anchors = Vec::new();
        for value in [anchors, spread] {
            let value = at.shaped(value, vec![Dim::from(count), Dim::from(4)])?;
            of_anchors.push(at.emit(Gather { axis: 0 }, &[value, number])?);
        }
        let moves = at.emit(Gather { axis: 1 }, &[moves, number])?;
        let moves = at.binary(BinaryKind::Mul, moves, of_anchors[1])?;
        let dtype = at.ty(moves).dtype;
        // Sides grow no more than from 16 to 1000.
        let (free, growth) = (f64::INFINITY, (1000.0f64 / 16.0).ln());
        let bounds = at.numbers(&[free, free, growth, growth], Type::new(dtype, [4]))?;
        let moves = at.binary(BinaryKind::Min, moves, bounds)?;
        let boxes = at.decoded(moves, of_anchors[0], None, pixel)?;

        let mut ends = Vec::new();
        for part in [1, 0] {
            let end = at.part(image, 1, part, 1)?;
            ends.push(at.shaped(end, vec![Dim::from(1)])?);
        }
        let mut last = at.side_by_side(&[ends[0], ends[1], ends[0], ends[1]])?;
        last = at.scaled(last, 1.0, -pixel)?;
        let last = at.shaped(last, vec![Dim::from(1), Dim::from(4)])?;
        let zero = at.number(0.0, dtype)?;
        let boxes = at.clamped(boxes, zero, last)?;

        let list = vec![Dim::from(k)];
        let least = at.number(least, dtype)?;
        let corners: [VarId; 4] = at.all_of_last(boxes)?;
        let mut counts = None;
        for axis in 0..2 {
            let (low, high) =
                (at.shaped(corners[axis], list.clone())?, at.shaped(corners[axis + 2], list.clone())?);
            let side = at.binary(BinaryKind::Sub, high, low)?;
            let side = at.scaled(side, 1.0, pixel)?;
            let mut holds = at.emit(Compare { kind: CompareKind::GreaterEqual }, &[side, least])?;
            if has_offset {
                let half = at.scaled(side, 0.5, 0.0)?;
                let center = at.binary(BinaryKind::Add, low, half)?;
                let is_inside = at.emit(Compare { kind: CompareKind::LessEqual }, &[center, ends[axis]])?;
                holds = at.emit(Logical { kind: LogicalKind::And }, &[holds, is_inside])?;
            }
            counts = Some(match counts {
                None => holds,
                Some(other) => at.emit(Logical { kind: LogicalKind::And }, &[other, holds])?,
            });
        }
        let Some(counts) = counts else { return Ok(false) };
        let none = at.number(f64::NEG_INFINITY, dtype)?;
        let score = at.emit(Select, &[counts, score, none])?;
        let score = at.shaped(score, vec![Dim::from(1), Dim::from(k)])?;
        let keeping = Keeping { suppression, background: None, most: None, never_empty: false };
        let Some(kept) = at.kept_boxes(boxes, score, &keeping)? else { return Ok(false) };
        let rois = at.part(kept.boxes, 1, 2, 4)?;
        let scores = at.part(kept.boxes, 1, 1, 1)?;
        let counts = at.emit(Cast { dtype: DType::I32 }, &[kept.counts])?;
        let desc = self.desc;
        for (slot, value) in [("RpnRois", rois), ("RpnRoiProbs", scores), ("RpnRoisNum", counts)] {
            if let [name] = desc.output(slot) {
                self.named_value(name, value)?;
            }
        }
        one(desc.output("RpnRois"), "RpnRois")?;
        Ok(true)
    }
}
