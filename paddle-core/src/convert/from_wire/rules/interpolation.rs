//! Rules for operators that change the height and width of images.

use crate::convert::dialect::DIMS;
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

    /// The factors of height and width; 0 if sizes are given instead. `None` for lists of other lengths.
    fn scale_of_images(&self) -> Result<Option<[f64; 2]>, Fault> {
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
