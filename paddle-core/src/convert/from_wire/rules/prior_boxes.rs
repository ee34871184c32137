//! Rules for boxes that are laid over a map: around the center of each place, some of different sides.

use crate::convert::derived::float;
use crate::convert::draft::{At, MOST_POSITIONS};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{BinaryKind, Concat, Fill, Number, Tile};
use crate::program::{DType, Dim, Type, VarId};

/// Where boxes end that would leave their image.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    /// Outside of it.
    Anywhere,
    /// They do not begin before it, and do not end behind it.
    Outwards,
    /// Within it.
    Inside,
}

/// A box around a center: where it begins and where it ends, along columns and lines.
#[derive(Clone, Copy)]
struct Around {
    x: [f64; 2],
    y: [f64; 2],
}

impl Around {
    /// Of these sides, with its center in the middle.
    fn middle(width: f64, height: f64) -> Around {
        Around { x: [-width / 2.0, width / 2.0], y: [-height / 2.0, height / 2.0] }
    }
}

/// The ratios of sides: a square first, and each ratio once.
fn ratios_of_sides(given: &[f32], flip: bool) -> Vec<f64> {
    let mut ratios = vec![1.0f64];
    for ratio in given.iter().map(|&ratio| f64::from(ratio)) {
        if ratios.iter().all(|other| (ratio - other).abs() >= 1e-6) {
            ratios.push(ratio);
            if flip {
                ratios.push(1.0 / ratio);
            }
        }
    }
    ratios
}

impl<'a> Reading<'_, 'a> {
    fn numbers_in(&self, attribute: &'static str) -> Result<Vec<f32>, Fault> {
        Ok(self.desc.attr_floats(attribute)?.unwrap_or_default().to_vec())
    }

    /// The height and width of the images in a slot.
    fn height_and_width(&self, slot: &'static str) -> Result<Option<[Dim; 2]>, Fault> {
        let shape = self.reader.draft.program.shape(self.ty(self.input(slot)?));
        Ok(<[Dim; 4]>::try_from(shape).ok().map(|[_, _, height, width]| [height, width]))
    }

    pub(super) fn prior_box(&mut self) -> Result<bool, ConvertError> {
        let (least, most) = (self.numbers_in("min_sizes")?, self.numbers_in("max_sizes")?);
        let ratios = ratios_of_sides(&self.numbers_in("aspect_ratios")?, self.bool("flip", false)?);
        if !most.is_empty() && most.len() != least.len() {
            return self.lacks("it has other numbers of smallest and of largest sides");
        }
        let squares_first = self.bool("min_max_aspect_ratios_order", false)?;
        let mut boxes = Vec::new();
        for (k, side) in least.iter().map(|&side| f64::from(side)).enumerate() {
            let of_ratio = |ratio: f64| Around::middle(side * ratio.sqrt(), side / ratio.sqrt());
            let others = ratios[1..].iter().copied().map(of_ratio);
            let between = most.get(k).map(|&most| (side * f64::from(most)).sqrt());
            let between = between.map(|side| Around::middle(side, side));
            boxes.push(of_ratio(1.0));
            match squares_first {
                true => boxes.extend(between.into_iter().chain(others)),
                false => boxes.extend(others.chain(between)),
            }
        }
        let ends = if self.bool("clip", false)? { Ends::Inside } else { Ends::Anywhere };
        self.boxes_of_images(boxes, ends, false)
    }

    /// Boxes of each side and ratio around several centers at each place.
    pub(super) fn density_prior_box(&mut self) -> Result<bool, ConvertError> {
        let (sides, ratios) = (self.numbers_in("fixed_sizes")?, self.numbers_in("fixed_ratios")?);
        let densities = self.desc.attr_longs("densities")?.unwrap_or_default();
        let per_place = densities.iter().map(|&density| density.saturating_mul(density));
        let per_place = per_place.fold(0i64, i64::saturating_add).saturating_mul(ratios.len() as i64);
        if densities.len() != sides.len()
            || densities.iter().any(|&density| density < 1)
            || per_place > MOST_POSITIONS
        {
            return self.lacks("it has other numbers of densities and of sides");
        }
        let Some(steps) = self.steps_of_images()? else {
            return self.lacks("the sizes of its images are not known");
        };
        let average = ((steps[0] + steps[1]) * 0.5).trunc();
        let mut boxes = Vec::new();
        for (&side, &density) in sides.iter().zip(&densities) {
            let shift = (average / density as f64).trunc();
            let first = -average / 2.0 + shift / 2.0;
            for ratio in ratios.iter().map(|&ratio| f64::from(ratio).sqrt()) {
                let own = Around::middle(f64::from(side) * ratio, f64::from(side) / ratio);
                for line in 0..density {
                    for column in 0..density {
                        let [right, down] = [column, line].map(|place| first + place as f64 * shift);
                        let moved = |along: [f64; 2], by: f64| along.map(|end| end + by);
                        boxes.push(Around { x: moved(own.x, right), y: moved(own.y, down) });
                    }
                }
            }
        }
        let flat = self.bool("flatten_to_2d", false)?;
        let ends = if self.bool("clip", false)? { Ends::Inside } else { Ends::Outwards };
        self.boxes_of_images(boxes, ends, flat)
    }

    /// How far places are from each other, in columns and lines of an image, if that is known.
    fn steps_of_images(&self) -> Result<Option<[f64; 2]>, Fault> {
        let [across, down] =
            [float(self.desc, "step_w")?, float(self.desc, "step_h")?].map(|step| step.unwrap_or(0.0));
        if across != 0.0 && down != 0.0 {
            return Ok(Some([across, down]));
        }
        let (Some(map), Some(image)) = (self.height_and_width("Input")?, self.height_and_width("Image")?)
        else {
            return Ok(None);
        };
        let step = |k: usize| Some((image[k].constant()? as f32 / map[k].constant()? as f32).into());
        Ok(step(1).zip(step(0)).map(|(across, down)| [across, down]))
    }

    /// Boxes around the places of a map as parts of an image.
    fn boxes_of_images(
        &mut self,
        boxes: Vec<Around>,
        at_ends: Ends,
        flat: bool,
    ) -> Result<bool, ConvertError> {
        let (Some(map), Some(image)) = (self.height_and_width("Input")?, self.height_and_width("Image")?)
        else {
            return Ok(false);
        };
        let offset = float(self.desc, "offset")?.unwrap_or(0.5);
        let given =
            [float(self.desc, "step_w")?, float(self.desc, "step_h")?].map(|step| step.unwrap_or(0.0));
        let dtype = self.ty(self.input("Input")?).dtype;
        let mut at = self.at();
        let mut centers = Vec::new();
        let mut sides = Vec::new();
        for (axis, own) in [&map[1], &map[0]].into_iter().enumerate() {
            let whole = at.size_as(&image[1 - axis], dtype)?;
            let step = match given[0] != 0.0 && given[1] != 0.0 {
                true => at.number(given[axis], dtype)?,
                false => {
                    let cells = at.size_as(own, dtype)?;
                    at.binary(BinaryKind::Div, whole, cells)?
                }
            };
            let place = at.grid(own, dtype, axis)?;
            let place = at.scaled(place, 1.0, offset)?;
            centers.push(at.binary(BinaryKind::Mul, place, step)?);
            sides.push(whole);
        }
        let laid = at.laid(&boxes, &map, [centers[0], centers[1]], dtype)?;
        let mut ends = Vec::new();
        for side in [sides[0], sides[1], sides[0], sides[1]] {
            ends.push(at.shaped(side, vec![Dim::from(1)])?);
        }
        let ends = at.emit(Concat { axis: 0 }, &ends)?;
        let mut laid = at.binary(BinaryKind::Div, laid, ends)?;
        if at_ends != Ends::Anywhere {
            let (low, high) = match at_ends {
                Ends::Outwards => (f64::from(f32::MIN), f64::from(f32::MAX)),
                _ => (0.0, 1.0),
            };
            for (kind, limits) in
                [(BinaryKind::Max, [0.0, 0.0, low, low]), (BinaryKind::Min, [high, high, 1.0, 1.0])]
            {
                let limits = at.numbers(&limits, Type::new(dtype, [4]))?;
                laid = at.binary(kind, laid, limits)?;
            }
        }
        self.laid_boxes(laid, "Boxes", &map, boxes.len() as i64, flat)
    }

    pub(super) fn anchor_generator(&mut self) -> Result<bool, ConvertError> {
        let (sides, ratios) = (self.numbers_in("anchor_sizes")?, self.numbers_in("aspect_ratios")?);
        let stride = self.numbers_in("stride")?;
        let (&[across, down], Some(map)) = (&stride[..], self.height_and_width("Input")?) else {
            return Ok(false);
        };
        let mut boxes = Vec::new();
        for &ratio in &ratios {
            let width = (across * down / ratio).sqrt().round();
            let height = (width * ratio).round();
            for &side in &sides {
                let [width, height] = [side / across * width, side / down * height].map(f64::from);
                boxes.push(Around::middle(width - 1.0, height - 1.0));
            }
        }
        let offset = float(self.desc, "offset")?.unwrap_or(0.5);
        let dtype = self.ty(self.input("Input")?).dtype;
        let mut at = self.at();
        let mut centers = Vec::new();
        for (axis, (own, stride)) in [(&map[1], across), (&map[0], down)].into_iter().enumerate() {
            let place = at.grid(own, dtype, axis)?;
            let stride = f64::from(stride);
            centers.push(at.scaled(place, stride, offset * (stride - 1.0))?);
        }
        let laid = at.laid(&boxes, &map, [centers[0], centers[1]], dtype)?;
        self.laid_boxes(laid, "Anchors", &map, boxes.len() as i64, false)
    }

    /// The boxes, and for each the same variances.
    fn laid_boxes(
        &mut self,
        laid: VarId,
        slot: &'static str,
        map: &[Dim; 2],
        count: i64,
        flat: bool,
    ) -> Result<bool, ConvertError> {
        let variances = self.numbers_in("variances")?;
        if variances.len() != 4 || count == 0 {
            return self.lacks("it has no boxes, or no four variances");
        }
        let overflow = |_| Fault::Size { message: "there would be more boxes than can be counted".into() };
        let all = (&map[0] * &map[1]).and_then(|places| &places * &Dim::from(count)).map_err(overflow)?;
        let (desc, ty) = (self.desc, self.ty(laid).clone());
        let mut at = self.at();
        let values: Vec<f64> = variances.iter().map(|&number| number.into()).collect();
        let spread = at.numbers(&values, Type::new(ty.dtype, [1, 4]))?;
        let spread = at.emit(Tile { repeat_times: vec![all.clone(), Dim::from(1)] }, &[spread])?;
        let dims = if flat { vec![all, Dim::from(4)] } else { ty.dims };
        let (laid, spread) = (at.shaped(laid, dims.clone())?, at.shaped(spread, dims)?);
        self.named_value(one(desc.output(slot), slot)?, laid)?;
        self.named_value(one(desc.output("Variances"), "Variances")?, spread)
    }
}

impl At<'_> {
    /// Boxes around each center of a map: `[height, width, boxes, 4]`. The centers are `[width, 1]` and `[height, 1, 1]`.
    fn laid(
        &mut self,
        boxes: &[Around],
        map: &[Dim; 2],
        [x, y]: [VarId; 2],
        dtype: DType,
    ) -> Result<VarId, Fault> {
        let each = vec![map[0].clone(), map[1].clone(), Dim::from(1)];
        let zeros =
            self.emit(Fill { value: Number::Float(0.0), ty: Type { dtype, rows: None, dims: each } }, &[])?;
        let mut centers = Vec::new();
        for center in [x, y] {
            centers.push(self.binary(BinaryKind::Add, zeros, center)?);
        }
        let centers = self.emit(Concat { axis: 2 }, &[centers[0], centers[1], centers[0], centers[1]])?;
        let dims = vec![map[0].clone(), map[1].clone(), Dim::from(1), Dim::from(4)];
        let centers = self.shaped(centers, dims)?;
        let values = boxes.iter().flat_map(|own| [own.x[0], own.y[0], own.x[1], own.y[1]]);
        let values: Vec<f64> = values.collect();
        let around = self.numbers(&values, Type::new(dtype, [boxes.len() as i64, 4]))?;
        self.binary(BinaryKind::Add, centers, around)
    }
}
