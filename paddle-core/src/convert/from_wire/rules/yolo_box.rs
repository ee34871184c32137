//! The rule for what the maps of a detector say of boxes.

use crate::convert::derived::float;
use crate::convert::draft::At;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{BinaryKind, Cast, Compare, CompareKind, Select, Transpose, Unary, UnaryKind};
use crate::program::{Dim, Type, VarId};

impl At<'_> {
    fn sigmoid(&mut self, x: VarId) -> Result<VarId, Fault> {
        self.emit(Unary::of(UnaryKind::Sigmoid), &[x])
    }
}

impl Reading<'_, '_> {
    /// The boxes and scores that the maps of a detector tell: `X`, `[images, anchors · (5 + classes), height, width]`.
    pub(super) fn yolo_box(&mut self) -> Result<bool, ConvertError> {
        let (x, image, desc) = (self.input("X")?, self.input("ImgSize")?, self.desc);
        let anchors = desc.attr_ints("anchors")?.unwrap_or_default().to_vec();
        let classes = desc.attr_long("class_num")?.unwrap_or(0);
        let (count, ratio) = (anchors.len() as i64 / 2, desc.attr_long("downsample_ratio")?.unwrap_or(32));
        let threshold = float(desc, "conf_thresh")?.unwrap_or(0.01);
        let scale = float(desc, "scale_x_y")?.unwrap_or(1.0);
        let aware = self.bool("iou_aware", false)?.then_some(float(desc, "iou_aware_factor")?.unwrap_or(0.5));
        let clips = self.bool("clip_bbox", true)?;
        let ty = self.ty(x).clone();
        let around = ty.dims.len().checked_sub(3);
        let Some(around) = around.filter(|_| ty.rank() == 4 && classes > 0 && count > 0) else {
            return Ok(false);
        };
        let Ok([channels, height, width]) = <[Dim; 3]>::try_from(ty.dims[around..].to_vec()) else {
            return Ok(false);
        };
        let images = ty.dims[..around].to_vec();
        let extra = if aware.is_some() { 6 } else { 5 };
        let expected = classes.checked_add(extra).and_then(|numbers| numbers.checked_mul(count));
        if expected.is_none() || channels.constant() != expected {
            return self.lacks("it has other channels than its anchors and classes");
        }
        let numbers = classes + 5;
        let mut at = self.at();
        let shape = |numbers: i64| {
            let own = [Dim::from(count), Dim::from(numbers), height.clone(), width.clone()];
            [&images[..], &own[..]].concat()
        };
        let axis = at.ty(x).rank() - 3;
        // The channels of each number behind those of what it is known of the overlap, a number for each anchor.
        let (maps, overlap) = match aware {
            None => (x, None),
            Some(_) => (at.part(x, axis, count, count * numbers)?, Some(at.part(x, axis, 0, count)?)),
        };
        let maps = at.shaped(maps, shape(numbers))?;
        // [images, anchors, height, width, numbers]
        let rank = at.ty(maps).rank() as i64;
        let perm = (0..rank - 3).chain([rank - 2, rank - 1, rank - 3]).collect::<Vec<i64>>();
        let maps = at.emit(Transpose { perm: perm.clone() }, &[maps])?;
        let last = rank as usize - 1;
        let confidence = at.part(maps, last, 4, 1)?;
        let mut confidence = at.sigmoid(confidence)?;
        if let (Some(overlap), Some(factor)) = (overlap, aware) {
            let overlap = at.shaped(overlap, shape(1))?;
            let overlap = at.emit(Transpose { perm }, &[overlap])?;
            let overlap = at.sigmoid(overlap)?;
            let mut power = |x, power: f64| {
                let power = at.number(power, ty.dtype)?;
                at.binary(BinaryKind::Pow, x, power)
            };
            let (own, other) = (power(confidence, 1.0 - factor)?, power(overlap, factor)?);
            confidence = at.binary(BinaryKind::Mul, own, other)?;
        }
        let lowest = at.number(threshold, ty.dtype)?;
        let is_sure = at.emit(Compare { kind: CompareKind::GreaterEqual }, &[confidence, lowest])?;
        let image = at.emit(Cast { dtype: ty.dtype }, &[image])?;
        let places = [vec![Dim::from(1); around], vec![Dim::from(1); 4]].concat();
        let of_image = |place: i64, at: &mut At<'_>| {
            let side = at.of_last(image, place)?;
            let dims = match around {
                0 => places.clone(),
                _ => [&images[..], &places[around..]].concat(),
            };
            at.shaped(side, dims)
        };
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for (of, size) in [&width, &height].into_iter().enumerate() {
            let side = of_image(1 - of as i64, &mut at)?;
            let grid = at.grid(size, ty.dtype, of)?;
            let cells = at.size_as(size, ty.dtype)?;
            let center = at.part(maps, last, of as i64, 1)?;
            let center = at.sigmoid(center)?;
            let center = at.scaled(center, scale, -0.5 * (scale - 1.0))?;
            let center = at.binary(BinaryKind::Add, center, grid)?;
            let center = at.binary(BinaryKind::Mul, center, side)?;
            let center = at.binary(BinaryKind::Div, center, cells)?;
            let values = anchors.iter().skip(of).step_by(2).take(count as usize);
            let values: Vec<f64> = values.map(|&side| side.into()).collect();
            let anchor = at.numbers(&values, Type::new(ty.dtype, [count, 1, 1, 1]))?;
            let length = at.part(maps, last, 2 + of as i64, 1)?;
            let length = at.emit(Unary::of(UnaryKind::Exp), &[length])?;
            let length = at.binary(BinaryKind::Mul, length, anchor)?;
            let length = at.binary(BinaryKind::Mul, length, side)?;
            let whole = at.scaled(cells, ratio as f64, 0.0)?;
            let length = at.binary(BinaryKind::Div, length, whole)?;
            let half = at.scaled(length, 0.5, 0.0)?;
            let (mut from, mut to) =
                (at.binary(BinaryKind::Sub, center, half)?, at.binary(BinaryKind::Add, center, half)?);
            if clips {
                from = at.emit(Unary::of(UnaryKind::Relu), &[from])?;
                let end = at.scaled(side, 1.0, -1.0)?;
                to = at.binary(BinaryKind::Min, to, end)?;
            }
            low.push(from);
            high.push(to);
        }
        let boxes = at.side_by_side(&[low, high].concat())?;
        let scores = at.part(maps, last, 5, classes)?;
        let scores = at.sigmoid(scores)?;
        let scores = at.binary(BinaryKind::Mul, scores, confidence)?;
        let zero = at.number(0.0, ty.dtype)?;
        let all =
            (&(&Dim::from(count) * &height).map_err(|_| overflow())? * &width).map_err(|_| overflow())?;
        for (value, slot, numbers) in [(boxes, "Boxes", 4), (scores, "Scores", classes)] {
            let mut at = self.at();
            let value = at.emit(Select, &[is_sure, value, zero])?;
            let value = at.shaped(value, [&images[..], &[all.clone(), Dim::from(numbers)]].concat())?;
            self.named_value(one(desc.output(slot), slot)?, value)?;
        }
        Ok(true)
    }
}

fn overflow() -> Fault {
    Fault::Size { message: "there would be more boxes than can be counted".into() }
}
