//! Rules for operators that change the height and width of images.

use crate::convert::dialect::DIMS;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::types::parse_dim;
use crate::ops::{Interpolate, InterpolateGrad, InterpolateKind};
use crate::program::{Dim, VarId};

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
            return Ok(exact.iter().map(|dim| parse_dim(&self.reader.program, dim)).collect());
        }
        if scale == [0.0; 2] {
            let size = |name| Ok::<_, Fault>(self.desc.attr_long(name)?.unwrap_or(0));
            return Ok(Some(vec![Dim::from(size("out_h")?), Dim::from(size("out_w")?)]));
        }
        let [.., height, width] = &self.ty(x).dims[..] else { return Ok(None) };
        let times = |size, scale| {
            let large = |_| Fault::Size { message: "an image would be of a size that overflows".into() };
            Interpolate::scaled(size, scale).map_err(large)
        };
        let (height, width) = (times(height, scale[0])?, times(width, scale[1])?);
        Ok(height.zip(width).map(|(height, width)| vec![height, width]))
    }
}
