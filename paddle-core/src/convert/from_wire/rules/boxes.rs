//! Rules for arithmetic of boxes: their codes, and what of them overlaps.

use crate::convert::derived::float;
use crate::convert::draft::{At, Regions};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{BinaryKind, Concat, Number, Range, RowsToAxis, Unary, UnaryKind};
use crate::program::{DType, Dim, Type, VarId};

/// Boxes by their centers and sides, each of them with the last axis of boxes as one of size 1.
struct Centered {
    center: [VarId; 2],
    sides: [VarId; 2],
}

impl At<'_> {
    /// A number of each box, by its place on the last axis.
    pub(super) fn of_last(&mut self, x: VarId, place: i64) -> Result<VarId, Fault> {
        let axis = self.ty(x).rank() - 1;
        self.part(x, axis, place, 1)
    }

    pub(super) fn all_of_last<const N: usize>(&mut self, x: VarId) -> Result<[VarId; N], Fault> {
        let mut all = [x; N];
        for (place, of) in all.iter_mut().enumerate() {
            *of = self.of_last(x, place as i64)?;
        }
        Ok(all)
    }

    pub(super) fn side_by_side(&mut self, parts: &[VarId]) -> Result<VarId, Fault> {
        // What has no rows, or other sizes, gets those of the others.
        let axis = self.ty(parts[0]).rank() as i64 - 1;
        self.emit(Concat { axis }, parts)
    }

    fn centered(&mut self, boxes: VarId, pixel: f64) -> Result<Centered, Fault> {
        let [x1, y1, x2, y2] = self.all_of_last(boxes)?;
        let mut along = |low, high| {
            let side = self.binary(BinaryKind::Sub, high, low)?;
            let side = self.scaled(side, 1.0, pixel)?;
            let half = self.scaled(side, 0.5, 0.0)?;
            Ok::<_, Fault>((self.binary(BinaryKind::Add, low, half)?, side))
        };
        let ((x, width), (y, height)) = (along(x1, x2)?, along(y1, y2)?);
        Ok(Centered { center: [x, y], sides: [width, height] })
    }

    /// The corners of boxes.
    fn corners(&mut self, boxes: &Centered, pixel: f64) -> Result<VarId, Fault> {
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for (&center, &side) in boxes.center.iter().zip(&boxes.sides) {
            let half = self.scaled(side, 0.5, 0.0)?;
            low.push(self.binary(BinaryKind::Sub, center, half)?);
            let end = self.binary(BinaryKind::Add, center, half)?;
            high.push(if pixel == 0.0 { end } else { self.scaled(end, 1.0, -pixel)? });
        }
        self.side_by_side(&[low, high].concat())
    }
}

impl<'a> Reading<'_, 'a> {
    /// What sides are longer by, if the last pixel of a box is within it.
    fn pixel(&self) -> Result<f64, Fault> {
        Ok(if self.bool("box_normalized", true)? { 0.0 } else { 1.0 })
    }

    /// Boxes as codes: their distance from prior boxes; and back.
    pub(super) fn box_coder(&mut self) -> Result<bool, ConvertError> {
        let (mut prior, target, pixel) = (self.input("PriorBox")?, self.input("TargetBox")?, self.pixel()?);
        let encodes = match self.desc.attr_string("code_type")?.unwrap_or("encode_center_size") {
            "encode_center_size" => true,
            "decode_center_size" => false,
            _ => return Ok(false),
        };
        let by_row = !encodes && self.desc.attr_long("axis")?.unwrap_or(0) == 1;
        let mut spread = match self.has(&["PriorBoxVar"]) {
            true => Some(self.input("PriorBoxVar")?),
            false => None,
        };
        let numbers = self.desc.attr_floats("variance")?.unwrap_or_default().to_vec();
        let mut at = self.at();
        if spread.is_none() && numbers.len() == 4 {
            let values: Vec<f64> = numbers.iter().map(|&number| number.into()).collect();
            let ty = Type::new(at.ty(target).dtype, [4]);
            spread = Some(at.numbers(&values, ty)?);
        } else if by_row && let Some(given) = spread {
            spread = Some(at.with_axis_of_one(given)?);
        }
        if by_row {
            prior = at.with_axis_of_one(prior)?;
        }
        let out = match encodes {
            true => {
                let target = at.with_axis_of_one(target)?;
                at.encoded(target, prior, spread, pixel)?
            }
            false => at.decoded(target, prior, spread, pixel)?,
        };
        let desc = self.desc;
        self.named_value(one(desc.output("OutputBox"), "OutputBox")?, out)
    }

    /// The area that two boxes share, divided by the area that they cover, for each two of them.
    pub(super) fn iou_similarity(&mut self) -> Result<bool, ConvertError> {
        let (x, y, pixel) = (self.input("X")?, self.input("Y")?, self.pixel()?);
        let mut at = self.at();
        let x = at.with_axis_of_one(x)?;
        let ([left, top, right, bottom], [left_y, top_y, right_y, bottom_y]) =
            (at.all_of_last(x)?, at.all_of_last(y)?);
        let mut along = |[low, high]: [VarId; 2], [low_y, high_y]: [VarId; 2]| {
            let [own, other] = [[low, high], [low_y, high_y]].map(|[low, high]| {
                let side = at.binary(BinaryKind::Sub, high, low)?;
                at.scaled(side, 1.0, pixel)
            });
            let (end, start) =
                (at.binary(BinaryKind::Min, high, high_y)?, at.binary(BinaryKind::Max, low, low_y)?);
            let shared = at.binary(BinaryKind::Sub, end, start)?;
            let shared = at.scaled(shared, 1.0, pixel)?;
            Ok::<_, Fault>([own?, other?, at.emit(Unary::of(UnaryKind::Relu), &[shared])?])
        };
        let (wide, high) =
            (along([left, right], [left_y, right_y])?, along([top, bottom], [top_y, bottom_y])?);
        let mut area = |k: usize| at.binary(BinaryKind::Mul, wide[k], high[k]);
        let (own, other, shared) = (area(0)?, area(1)?, area(2)?);
        let both = at.binary(BinaryKind::Add, own, other)?;
        let covered = at.binary(BinaryKind::Sub, both, shared)?;
        let share = at.binary(BinaryKind::Div, shared, covered)?;
        let mut dims = at.ty(share).dims.clone();
        dims.pop();
        let share = at.shaped(share, dims)?;
        self.out_value(share)
    }

    /// Boxes that end where their image ends. `ImInfo`: height, width and scale of each image.
    pub(super) fn box_clip(&mut self) -> Result<bool, ConvertError> {
        let (boxes, info) = (self.input("Input")?, self.input("ImInfo")?);
        let (rows, images) = (self.ty(boxes).rows, self.ty(info).rows);
        if images.is_none() || (rows != images && self.rows_of(boxes) != images) {
            return self.lacks("its boxes do not belong to images");
        }
        let mut at = self.at();
        let [height, width, scale] = at.all_of_last(info)?;
        let mut last = Vec::new();
        for side in [width, height] {
            let side = at.binary(BinaryKind::Div, side, scale)?;
            let side = at.emit(Unary::of(UnaryKind::Round), &[side])?;
            last.push(at.scaled(side, 1.0, -1.0)?);
        }
        let mut last = at.side_by_side(&[last[0], last[1], last[0], last[1]])?;
        if rows != images {
            last = at.for_tokens(last, boxes)?;
        }
        let axes = vec![Dim::from(1); at.ty(boxes).dims.len().saturating_sub(1)];
        let last = at.shaped(last, [axes, vec![Dim::from(4)]].concat())?;
        let least = at.binary(BinaryKind::Min, boxes, last)?;
        let clipped = at.emit(Unary::of(UnaryKind::Relu), &[least])?;
        let desc = self.desc;
        self.named_value(one(desc.output("Output"), "Output")?, clipped)
    }

    /// Regions of images. How many each image has is an input, or they are a sequence for each image.
    pub(super) fn roi_align(&mut self) -> Result<bool, ConvertError> {
        let (x, boxes) = (self.input("X")?, self.input("ROIs")?);
        let of = Regions {
            bins: ["pooled_height", "pooled_width"]
                .map(|name| self.desc.attr_long(name))
                .into_iter()
                .map(|bins| Ok(bins?.unwrap_or(1)))
                .collect::<Result<Vec<i64>, Fault>>()?
                .try_into()
                .unwrap_or([1; 2]),
            scale: float(self.desc, "spatial_scale")?.unwrap_or(1.0),
            samples: self.desc.attr_long("sampling_ratio")?.unwrap_or(-1),
            aligned: self.bool("aligned", false)?,
        };
        let counts = if self.has(&["RoisNum"]) { Some(self.input("RoisNum")?) } else { None };
        let is_of_images = self.rows_of(boxes).is_some() && self.rows_of(boxes) == self.ty(x).rows;
        let is_fixed = self.ty(boxes).rows.is_none();
        let mut at = self.at();
        let Some(boxes) = at.along_rows(boxes)? else {
            return self.lacks("the number of its boxes is not known");
        };
        let images = match counts {
            Some(counts) => match at.images_of_counts(counts, boxes)? {
                Some(numbers) => at.images_at(x, numbers)?,
                None => return self.lacks("the number of its boxes is not known"),
            },
            None if is_of_images => at.for_tokens(x, boxes)?,
            None => return self.lacks("its boxes do not belong to images"),
        };
        match at.regions(images, boxes, &of)? {
            Ok(regions) if is_fixed => self.out(RowsToAxis, &[regions]),
            Ok(regions) => self.out_value(regions),
            Err(lack) => self.lacks(lack),
        }
    }
}

impl At<'_> {
    /// A value with an axis of size 1 before the last one.
    pub(super) fn with_axis_of_one(&mut self, x: VarId) -> Result<VarId, Fault> {
        let mut dims = self.ty(x).dims.clone();
        dims.insert(dims.len().saturating_sub(1), Dim::from(1));
        self.shaped(x, dims)
    }

    /// 0, 1, 2, … along columns, axis 0, as `[size, 1]`, or along lines, axis 1, as `[size, 1, 1]`.
    pub(super) fn grid(&mut self, size: &Dim, dtype: DType, axis: usize) -> Result<VarId, Fault> {
        let ty = Type { dtype, rows: None, dims: vec![size.clone()] };
        let numbers = self.emit(Range { start: Number::Float(0.0), step: Number::Float(1.0), ty }, &[])?;
        let dims = std::iter::once(size.clone()).chain(vec![Dim::from(1); axis + 1]).collect();
        self.shaped(numbers, dims)
    }

    /// The codes of boxes: `[.., 1, 4]` and `[.., priors, 4]` give `[.., priors, 4]`.
    fn encoded(
        &mut self,
        target: VarId,
        prior: VarId,
        spread: Option<VarId>,
        pixel: f64,
    ) -> Result<VarId, Fault> {
        let of_prior = self.centered(prior, pixel)?;
        let [x1, y1, x2, y2] = self.all_of_last(target)?;
        let mut parts = Vec::new();
        for (axis, (low, high)) in [(x1, x2), (y1, y2)].into_iter().enumerate() {
            // The center of a target is between its corners, whatever a pixel is.
            let sum = self.binary(BinaryKind::Add, low, high)?;
            let center = self.scaled(sum, 0.5, 0.0)?;
            let moved = self.binary(BinaryKind::Sub, center, of_prior.center[axis])?;
            parts.push(self.binary(BinaryKind::Div, moved, of_prior.sides[axis])?);
        }
        for (axis, (low, high)) in [(x1, x2), (y1, y2)].into_iter().enumerate() {
            let side = self.binary(BinaryKind::Sub, high, low)?;
            let side = self.scaled(side, 1.0, pixel)?;
            let ratio = self.binary(BinaryKind::Div, side, of_prior.sides[axis])?;
            let ratio = self.emit(Unary::of(UnaryKind::Abs), &[ratio])?;
            parts.push(self.emit(Unary::of(UnaryKind::Log), &[ratio])?);
        }
        let code = self.side_by_side(&parts)?;
        match spread {
            Some(spread) => self.binary(BinaryKind::Div, code, spread),
            None => Ok(code),
        }
    }

    /// The boxes of codes `[.., priors, 4]`.
    pub(super) fn decoded(
        &mut self,
        code: VarId,
        prior: VarId,
        spread: Option<VarId>,
        pixel: f64,
    ) -> Result<VarId, Fault> {
        let of_prior = self.centered(prior, pixel)?;
        let code = match spread {
            Some(spread) => self.binary(BinaryKind::Mul, code, spread)?,
            None => code,
        };
        let [x, y, width, height] = self.all_of_last(code)?;
        let (mut center, mut sides) = ([x, y], [width, height]);
        for axis in 0..2 {
            let moved = self.binary(BinaryKind::Mul, center[axis], of_prior.sides[axis])?;
            center[axis] = self.binary(BinaryKind::Add, moved, of_prior.center[axis])?;
            let factor = self.emit(Unary::of(UnaryKind::Exp), &[sides[axis]])?;
            sides[axis] = self.binary(BinaryKind::Mul, factor, of_prior.sides[axis])?;
        }
        self.corners(&Centered { center, sides }, pixel)
    }
}
