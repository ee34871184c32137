//! Rules for boxes that are looked for in several maps of an image, a level of a pyramid each: Lin et al., "Feature Pyramid Networks for
//! Object Detection", 2016, section 4.2.

use crate::convert::draft::At;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{
    AxisToRows, Binary, BinaryKind, Cast, Compare, CompareKind, Concat, CumSum, Gather, Logical, LogicalKind,
    Reduce, ReduceKind, RowsToAxis, Select, TopK, Unary, UnaryKind, made_sequences,
};
use crate::program::{DType, Dim, VarId};

/// The most levels of a pyramid.
const MOST_LEVELS: i64 = 32;

/// Boxes without rows.
struct Boxes {
    /// `[N, 4]`.
    corners: VarId,
    /// The number of the image of each: i64 `[N]`.
    images: VarId,
    /// How many images there are.
    count: Dim,
}

impl Reading<'_, '_> {
    /// The boxes of each level, which follows from their sizes; how many of them each image has, and where each box went.
    pub(super) fn distribute_proposals(&mut self) -> Result<bool, ConvertError> {
        let (boxes, desc) = (self.input("FpnRois")?, self.desc);
        let counts = if self.has(&["RoisNum"]) { Some(self.input("RoisNum")?) } else { None };
        let level =
            |attribute: &'static str| desc.attr_long(attribute)?.ok_or(Fault::MissingAttribute { attribute });
        let (lowest, highest, usual) = (level("min_level")?, level("max_level")?, level("refer_level")?);
        let scale = level("refer_scale")?;
        let pixel = if self.bool("pixel_offset", true)? { 1.0 } else { 0.0 };
        let names = desc.output("MultiFpnRois");
        let levels = highest.checked_sub(lowest).filter(|more| (0..MOST_LEVELS).contains(more));
        if levels.is_none_or(|more| more + 1 != names.len() as i64) || scale == 0 {
            let message = format!("there are {} outputs for levels {lowest} to {highest}", names.len());
            return Err(Fault::Attribute { attribute: "max_level", message }.into());
        }
        let Some(all) = self.at().boxes(boxes, counts)? else {
            return self.lacks("it is not known which images its boxes are in");
        };
        let mut at = self.at();
        let dtype = at.ty(all.corners).dtype;
        let number = at.ty(all.images).dims.clone();
        let size = at.size_of_boxes(all.corners, pixel)?;
        let size = at.shaped(size, number.clone())?;
        let ratio = at.scaled(size, 1.0 / scale as f64, 1e-6)?;
        let level = at.emit(Unary::of(UnaryKind::Log2), &[ratio])?;
        let level = at.scaled(level, 1.0, usual as f64)?;
        let level = at.emit(Unary::of(UnaryKind::Floor), &[level])?;
        let (least, most) = (at.number(lowest as f64, dtype)?, at.number(highest as f64, dtype)?);
        let level = at.clamped(level, least, most)?;

        let mut restored = None;
        let mut before = at.number(0.0, DType::I64)?;
        for (k, name) in names.iter().enumerate() {
            let mut at = self.at();
            let own = at.number((lowest + k as i64) as f64, dtype)?;
            let is_here = at.emit(Compare { kind: CompareKind::Equal }, &[level, own])?;
            let ones = at.emit(Cast { dtype: DType::I64 }, &[is_here])?;
            let place = at.emit(CumSum { axis: 0, exclusive: true, reverse: false }, &[ones])?;
            let place = at.binary(BinaryKind::Add, place, before)?;
            let place = at.binary(BinaryKind::Mul, place, ones)?;
            restored = Some(match restored {
                Some(others) => at.binary(BinaryKind::Add, others, place)?,
                None => place,
            });
            let sum = Reduce { kind: ReduceKind::Sum, axes: vec![0], keep_dim: false };
            let here = at.emit(sum, &[ones])?;
            before = at.binary(BinaryKind::Add, before, here)?;

            let Some(places) = at.flat_places_where(is_here)? else { return Ok(false) };
            let places = at.as_counted_axis(places)?;
            let of_images = at.emit(Gather { axis: 0 }, &[all.images, places])?;
            let number = at.counts(of_images, &all.count)?;
            let corners = match counts {
                Some(_) => {
                    let corners = at.emit(Gather { axis: 0 }, &[all.corners, places])?;
                    at.sequences_of_images(corners, number)?
                }
                None => {
                    let tokens = at.ty(boxes).rows.and_then(|rows| at.draft.program.rows_of_sequences(rows));
                    let Some(rows) = tokens else { return Ok(false) };
                    let rows = at.draft.program.create_tokens("level", rows);
                    let keep = at.emit(AxisToRows, &[is_here, boxes])?;
                    made_sequences::filter((boxes, rows), keep, |op, inputs| at.emit(op, inputs))?
                }
            };
            self.named_value(name, corners)?;
            if let Some(name) = desc.output("MultiLevelRoIsNum").get(k) {
                let number = self.emit(Cast { dtype: DType::I32 }, &[number])?;
                self.named_value(name, number)?;
            }
        }
        let Some(restored) = restored else { return Ok(false) };
        let restored = self.emit(Cast { dtype: DType::I32 }, &[restored])?;
        let restored = self.at().shaped(restored, vec![number[0].clone(), Dim::from(1)])?;
        self.named_value(one(desc.output("RestoreIndex"), "RestoreIndex")?, restored)
    }

    /// Of the boxes of all levels those with the highest scores, image by image.
    pub(super) fn collect_proposals(&mut self) -> Result<bool, ConvertError> {
        let (boxes, scores, desc) =
            (self.inputs("MultiLevelRois")?, self.inputs("MultiLevelScores")?, self.desc);
        let counts = self.inputs("MultiLevelRoIsNum")?;
        let attribute = "post_nms_topN";
        let most = desc.attr_long(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
        if boxes.is_empty()
            || boxes.len() != scores.len()
            || (!counts.is_empty() && counts.len() != boxes.len())
        {
            return self.lacks("it does not have scores and counts for each level");
        }
        let mut parts = [Vec::new(), Vec::new(), Vec::new()];
        let mut count = None;
        for (k, &of_level) in boxes.iter().enumerate() {
            let mut at = self.at();
            let Some(all) = at.boxes(of_level, counts.get(k).copied())? else {
                return self.lacks("it is not known which images its boxes are in");
            };
            let score = at.tokens_as(scores[k], of_level)?.unwrap_or(scores[k]);
            let score = at.as_list(score)?;
            let number = at.ty(all.images).dims.clone();
            let score = at.shaped(score, number)?;
            for (parts, value) in parts.iter_mut().zip([all.corners, score, all.images]) {
                parts.push(value);
            }
            count.get_or_insert(all.count);
        }
        let Some(count) = count else { return Ok(false) };
        let mut at = self.at();
        let joined = parts.map(|parts| match parts[..] {
            [only] => Ok(only),
            _ => at.emit(Concat { axis: 0 }, &parts),
        });
        let [corners, scores, images] = joined;
        let (corners, scores, images) = (corners?, scores?, images?);
        let all = at.ty(images).dims[0].clone();
        let order = at.emit_all(TopK { k: None, axis: 0, largest: true }, &[scores], 2)?[1];
        let images = at.emit(Gather { axis: 0 }, &[images, order])?;
        let place = at.count_to(all.clone())?;
        let most = at.number(most.max(0) as f64, DType::I64)?;
        let is_chosen = at.emit(Compare { kind: CompareKind::LessThan }, &[place, most])?;
        // By their images, and those that are not chosen behind all images.
        let behind = at.size_as(&count, DType::I64)?;
        let group = at.emit(Select, &[is_chosen, images, behind])?;
        let all = at.size_as(&all, DType::I64)?;
        let key = at.binary(BinaryKind::Mul, group, all)?;
        let key = at.binary(BinaryKind::Add, key, place)?;
        let by_image = at.emit_all(TopK { k: None, axis: 0, largest: false }, &[key], 2)?[1];
        let number = at.binary(BinaryKind::Min, all, most)?;
        let first = at.numbers_before(number, "collected")?;
        let by_image = at.emit(Gather { axis: 0 }, &[by_image, first])?;
        let order = at.emit(Gather { axis: 0 }, &[order, by_image])?;
        let images = at.emit(Gather { axis: 0 }, &[images, by_image])?;
        let corners = at.emit(Gather { axis: 0 }, &[corners, order])?;
        let counts = at.counts(images, &count)?;
        let corners = at.sequences_of_images(corners, counts)?;
        let counts = at.emit(Cast { dtype: DType::I32 }, &[counts])?;
        self.named_value(one(desc.output("FpnRois"), "FpnRois")?, corners)?;
        match desc.output("RoisNum") {
            [name] => self.named_value(name, counts),
            _ => Ok(true),
        }
    }
}

impl At<'_> {
    /// Boxes and their images: each image has as many as `counts` says, or they are sequences of the images.
    fn boxes(&mut self, boxes: VarId, counts: Option<VarId>) -> Result<Option<Boxes>, Fault> {
        if let Some(counts) = counts {
            let corners = self.as_list(boxes)?;
            let Some(number) = self.ty(corners).dims.first().cloned() else { return Ok(None) };
            let Some((ends, count)) = self.ends_of(counts)? else { return Ok(None) };
            let place = self.count_to(number.clone())?;
            let place = self.shaped(place, vec![number, Dim::from(1)])?;
            let is_behind = self.emit(Compare { kind: CompareKind::LessEqual }, &[ends, place])?;
            let images = self.count_of(is_behind)?;
            return Ok(Some(Boxes { corners, images, count }));
        }
        let levels = self.draft.program.levels(self.ty(boxes));
        let Some(sources) = self.sources(&levels)? else { return Ok(None) };
        let corners = self.emit(RowsToAxis, &[boxes])?;
        Ok(Some(Boxes { corners, images: sources.of_rows, count: sources.count }))
    }

    /// The square root of the area of each box, and 0 where it has none: `[N, 1]`.
    fn size_of_boxes(&mut self, corners: VarId, pixel: f64) -> Result<VarId, Fault> {
        let low = self.part(corners, 1, 0, 2)?;
        let high = self.part(corners, 1, 2, 2)?;
        let sides = self.emit(Binary { kind: BinaryKind::Sub }, &[high, low])?;
        let (width, height) = (self.part(sides, 1, 0, 1)?, self.part(sides, 1, 1, 1)?);
        let zero = self.number(0.0, self.ty(corners).dtype)?;
        let mut has_area = Vec::new();
        for side in [width, height] {
            has_area.push(self.emit(Compare { kind: CompareKind::GreaterEqual }, &[side, zero])?);
        }
        let has_area = self.emit(Logical { kind: LogicalKind::And }, &has_area)?;
        let (width, height) = (self.scaled(width, 1.0, pixel)?, self.scaled(height, 1.0, pixel)?);
        let area = self.binary(BinaryKind::Mul, width, height)?;
        let area = self.emit(Select, &[has_area, area, zero])?;
        self.emit(Unary::of(UnaryKind::Sqrt), &[area])
    }

    /// Boxes in the order of their images as sequences of these, if it is known how many images there are.
    fn sequences_of_images(&mut self, corners: VarId, counts: VarId) -> Result<VarId, Fault> {
        let counts = self.with_rows(counts)?;
        Ok(self.sequences_of([corners], Some(counts))?.map_or(corners, |[corners]| corners))
    }

    /// Tokens that are chosen while a program runs as an axis, whose size is one like any other.
    fn as_counted_axis(&mut self, tokens: VarId) -> Result<VarId, Fault> {
        self.draft.counted.extend(self.ty(tokens).rows);
        self.emit(RowsToAxis, &[tokens])
    }
}
