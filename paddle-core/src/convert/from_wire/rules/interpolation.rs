//! Rules for operators that change the height and width of images.

use crate::convert::dialect::DIMS;
use crate::convert::draft::{MOST_POSITIONS, Mix};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::types::parse_dim;
use crate::ops::{Interpolate, InterpolateGrad, InterpolateKind, Reshape};
use crate::program::{Dim, VarId};

fn overflow() -> Fault {
    Fault::Size { message: "an image would be of a size that overflows".into() }
}

impl Reading<'_, '_> {
    pub(super) fn interpolate(&mut self, kind: InterpolateKind) -> Result<bool, ConvertError> {
        let (desc, x) = (self.desc, self.input("X")?);
        let is_grad = desc.r#type.ends_with("_grad");
        if self.ty(x).rank() == 5 && kind == InterpolateKind::Nearest && !is_grad {
            return self.resample(None);
        }
        let scale = self.scale_of_images()?;
        let (x, back) = match is_grad && self.channels_last("data_layout")? {
            true => return Ok(false),
            false if is_grad => (x, None),
            false => self.channels_first(x, "data_layout")?,
        };
        let (Some(scale), false) = (scale, self.has(&["Scale"])) else { return Ok(false) };
        let Some(size) = self.size_of_result(x, scale)? else { return Ok(false) };
        let align_corners = self.bool("align_corners", true)?;
        let align_mode = desc.attr_long("align_mode")?.unwrap_or(1);
        // The first version takes the ratio of the sizes, also where it has a factor.
        let scale = if desc.r#type.contains("_v2") { scale } else { [0.0; 2] };
        let op = Interpolate { kind, size, scale, align_corners, align_mode };
        if is_grad {
            let inputs = [x, self.input("Out@GRAD")?];
            return self.define(InterpolateGrad(op), &inputs, &[], &[one(desc.output("X@GRAD"), "X@GRAD")?]);
        }
        let out = one(desc.output("Out"), "Out")?;
        let Some(back) = back else { return self.define(op, &[x], &[], &[out]) };
        let image = self.emit(op, &[x])?;
        self.define(back, &[image], &[], &[out])
    }

    /// Signals `[_, channels, length]` are images of height 1.
    pub(super) fn interpolate_signals(&mut self) -> Result<bool, ConvertError> {
        let (desc, x) = (self.desc, self.input("X")?);
        let mut scale = 0.0;
        if let Some(&[factor]) = desc.attr_floats("scale")? {
            scale = f64::from(factor);
        }
        let is_last = desc.attr_string("data_layout")? == Some("NWC");
        let dims = self.ty(x).dims.clone();
        let ([before @ .., length], false) =
            (&dims[..], is_last || self.has(&["Scale", "OutSize", "SizeTensor"]))
        else {
            return self.lacks("its channels come last, or its length is an input");
        };
        let width = match scale {
            0.0 => Some(Dim::from(desc.attr_long("out_w")?.unwrap_or(0))),
            scale => Interpolate::scaled(length, scale).map_err(|_| overflow())?,
        };
        let Some(width) = width.filter(|_| self.ty(x).rank() == 3) else { return Ok(false) };
        let op = Interpolate {
            kind: InterpolateKind::Bilinear,
            size: vec![Dim::from(1), width.clone()],
            scale: if scale == 0.0 { [0.0; 2] } else { [1.0, scale] },
            align_corners: self.bool("align_corners", true)?,
            align_mode: desc.attr_long("align_mode")?.unwrap_or(1),
        };
        let image = Reshape { dims: [before, &[Dim::from(1), length.clone()]].concat() };
        let signal = Reshape { dims: [before, &[width]].concat() };
        self.out_of_chain(vec![image.into(), op.into(), signal.into()], &[x])
    }

    /// Images and volumes of known sizes, axis by axis: what has no operator of ours.
    pub(super) fn resample(&mut self, mix: Option<Mix>) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let aligns = self.bool("align_corners", true)?;
        let from_start =
            matches!(mix, Some(Mix::Linear)) && self.desc.attr_long("align_mode")?.unwrap_or(1) == 1;
        let (x, back) = match self.desc.attr_string("data_layout")? == Some("NDHWC") {
            true => return self.lacks("its channels come last"),
            false => self.channels_first(x, "data_layout")?,
        };
        let spatial = self.ty(x).rank().saturating_sub(2);
        if !(1..=3).contains(&spatial) {
            return Ok(false);
        }
        let scales = self.desc.attr_floats("scale")?.unwrap_or_default().to_vec();
        let scales: Vec<f64> = match scales[..] {
            [] => vec![0.0; spatial],
            [all] => vec![all.into(); spatial],
            _ => scales.iter().map(|&scale| scale.into()).collect(),
        };
        let sizes = match self.has(&["OutSize", "SizeTensor"]) {
            true => self.numbers("", "OutSize", "SizeTensor")?,
            false => {
                let names = ["out_d", "out_h", "out_w"];
                let names = &names[names.len() - spatial.min(names.len())..];
                let size = |name: &&str| Ok::<_, Fault>(self.desc.attr_long(name)?.unwrap_or(0));
                Some(names.iter().map(size).collect::<Result<Vec<i64>, Fault>>()?)
            }
        };
        let (Some(sizes), false) = (sizes, self.has(&["Scale"])) else {
            return self.lacks("its sizes are computed while it runs, but have to be known before");
        };
        if scales.len() != spatial || sizes.len() != spatial {
            return Ok(false);
        }
        let first = self.ty(x).rank() - spatial;
        let mut value = x;
        for (k, (&scale, &size)) in scales.iter().zip(&sizes).enumerate() {
            let axis = first + k;
            let shape = self.reader.draft.program.shape(self.ty(x));
            let Some(from) = shape[axis].constant() else {
                return self.lacks("a size of its images is not known, in a mode that needs it");
            };
            // Explicit sizes are meant where there are any.
            let is_scaled = scale > 0.0 && !self.has(&["OutSize", "SizeTensor"]);
            let to = if is_scaled { (from as f64 * scale) as i64 } else { size };
            if from < 1 || to < 1 || from.max(to) >= MOST_POSITIONS {
                return self.lacks("a size is below 1 or too large");
            }
            let ratio = match aligns {
                true if to == 1 => 0.0,
                true => (from - 1) as f64 / (to - 1) as f64,
                false if is_scaled => 1.0 / scale,
                false => from as f64 / to as f64,
            };
            let place = |k: i64| match (mix, aligns) {
                (None, true) => (ratio * k as f64 + 0.5).floor(),
                (None, false) => (ratio * k as f64).floor(),
                (Some(_), true) => ratio * k as f64,
                (Some(_), false) if from_start => ratio * k as f64,
                (Some(_), false) => ratio * (k as f64 + 0.5) - 0.5,
            };
            let places: Vec<f64> = (0..to).map(place).collect();
            value = match mix {
                None => {
                    let places = places.iter().map(|&place| (place as i64).clamp(0, from - 1)).collect();
                    self.at().picked(value, axis as i64, places)?
                }
                Some(mix) => match self.at().mixed(value, axis, from, &places, mix, false)? {
                    Ok(mixed) => mixed,
                    Err(lack) => return self.lacks(lack),
                },
            };
        }
        match back {
            Some(back) => self.out(back, &[value]),
            None => self.out_value(value),
        }
    }

    /// The factors of height and width; 0 if sizes are given instead. `None` for lists of other lengths.
    fn scale_of_images(&self) -> Result<Option<[f64; 2]>, Fault> {
        if !self.desc.r#type.contains("_v2") {
            // The first version has one factor. Where a size is an input, it does not count.
            let both = f64::from(self.desc.attr_float("scale")?.unwrap_or(0.0));
            let is_scaled = both > 0.0 && !self.has(&["OutSize", "SizeTensor"]);
            return Ok(Some(if is_scaled { [both; 2] } else { [0.0; 2] }));
        }
        Ok(match self.desc.attr_floats("scale")?.unwrap_or_default() {
            [] => Some([0.0; 2]),
            &[both] => Some([both.into(); 2]),
            &[down, across] => Some([down.into(), across.into()]),
            _ => None,
        })
    }

    /// Height and width of the result: from inputs, from exact sizes, from a factor, or from attributes.
    fn size_of_result(&self, x: VarId, scale: [f64; 2]) -> Result<Option<Vec<Dim>>, Fault> {
        if self.has(&["OutSize", "SizeTensor"]) {
            if scale != [0.0; 2] {
                return Ok(None);
            }
            return Ok(self.dims("", "OutSize", "SizeTensor")?.filter(|sizes| sizes.len() == 2));
        }
        if let Some(exact) = self.desc.attr_strings(DIMS)? {
            return Ok(exact.iter().map(|dim| parse_dim(&self.reader.draft.program, dim)).collect());
        }
        if scale == [0.0; 2] {
            let size = |name| Ok::<_, Fault>(self.desc.attr_long(name)?.unwrap_or(0));
            return Ok(Some(vec![Dim::from(size("out_h")?), Dim::from(size("out_w")?)]));
        }
        let [.., height, width] = &self.ty(x).dims[..] else { return Ok(None) };
        let times = |size, scale| Interpolate::scaled(size, scale).map_err(|_| overflow());
        let (height, width) = (times(height, scale[0])?, times(width, scale[1])?);
        Ok(height.zip(width).map(|(height, width)| vec![height, width]))
    }
}
