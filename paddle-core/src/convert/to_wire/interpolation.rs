//! Writes interpolation.

use crate::convert::derived::whole;
use crate::convert::dialect::DIMS;
use crate::convert::types::dim_text;
use crate::ops::Interpolate;
use crate::program::Dim;
use crate::wire::OpAttr;

/// The attributes. Sizes that are no numbers are added as text.
pub(super) fn interpolate(op: &Interpolate) -> Vec<OpAttr> {
    let known = |dim: &Dim| dim.constant().and_then(|size| i32::try_from(size).ok()).filter(|&size| size > 0);
    let sizes: Vec<Option<i32>> = op.size.iter().map(known).collect();
    let is_scaled = op.scale.iter().any(|scale| *scale != 0.0);
    let scale: Vec<f32> = op.scale.iter().filter(|_| is_scaled).map(|scale| *scale as f32).collect();
    let mut attrs = vec![
        OpAttr::string("data_layout", "NCHW"),
        OpAttr::string("interp_method", op.kind.name()),
        OpAttr::int("out_d", -1),
        OpAttr::floats("scale", scale),
        OpAttr::bool("align_corners", op.align_corners),
        whole("align_mode", op.align_mode),
    ];
    attrs.extend(
        ["out_h", "out_w"].iter().zip(&sizes).map(|(name, size)| OpAttr::int(*name, size.unwrap_or(-1))),
    );
    if sizes.len() != 2 || sizes.contains(&None) {
        attrs.push(OpAttr::strings(DIMS, op.size.iter().map(dim_text)));
    }
    attrs
}
