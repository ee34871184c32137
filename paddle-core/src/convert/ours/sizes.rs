//! Reads operators with sizes or bounds. Sizes that are no numbers are text.

use crate::convert::dialect::DIMS;
use crate::convert::error::Fault;
use crate::convert::types::{dtype, element, is_small_product, parse_dim};
use crate::ops::{Attributes, Interpolate, InterpolateKind, OneHot, Program, Reshape, Slice, Split, Tile};
use crate::program::{Dim, VarId};
use crate::wire::{OpDesc, VarKind};

/// The sizes in an attribute, behind a number for the rows if there are rows. The exact ones count if they are there.
fn sizes(
    program: &Program,
    desc: &OpDesc,
    attribute: &'static str,
    has_rows: bool,
) -> Result<Vec<Dim>, Fault> {
    if let Some(exact) = exact(program, desc)? {
        return Ok(exact);
    }
    let numbers = desc.attr_longs(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
    Ok(numbers.into_iter().skip(usize::from(has_rows)).map(Dim::from).collect())
}

/// The sizes that are written as text.
fn exact(program: &Program, desc: &OpDesc) -> Result<Option<Vec<Dim>>, Fault> {
    let Some(texts) = desc.attr_strings(DIMS)? else { return Ok(None) };
    let size = |text: &String| {
        let message = || format!("`{text}` is not a size");
        parse_dim(program, text).ok_or_else(|| Fault::Attribute { attribute: DIMS, message: message() })
    };
    texts.iter().map(size).collect::<Result<Vec<Dim>, Fault>>().map(Some)
}

/// A reshape of `x`. The products of the sizes have to be of moderate length, as they are computed.
pub(super) fn reshape(
    program: &Program,
    desc: &OpDesc,
    x: Option<VarId>,
    has_rows: bool,
) -> Result<Reshape, Fault> {
    let dims = sizes(program, desc, "shape", has_rows)?;
    let is_small = is_small_product(&dims) && x.is_none_or(|x| is_small_product(&program.ty(x).dims));
    match is_small {
        true => Ok(Reshape { dims }),
        false => Err(Fault::Size { message: "the product of the sizes has too many terms".into() }),
    }
}

pub(super) fn tile(program: &Program, desc: &OpDesc, has_rows: bool) -> Result<Tile, Fault> {
    Ok(Tile { repeat_times: sizes(program, desc, "repeat_times", has_rows)? })
}

pub(super) fn split(program: &Program, desc: &OpDesc) -> Result<Split, Fault> {
    let attribute = "axis";
    let axis = desc.attr_long(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
    Ok(Split { axis, sections: sizes(program, desc, "sections", false)? })
}

pub(super) fn one_hot(program: &Program, desc: &OpDesc) -> Result<OneHot, Fault> {
    let [OneHot { dtype: default, .. }] = OneHot::prototypes()[..] else {
        return Err(Fault::UnknownOperator);
    };
    let kind = desc.attr_int("dtype")?.unwrap_or(element(default).into());
    let dtype = VarKind::try_from(kind).ok().and_then(dtype).ok_or_else(|| Fault::Attribute {
        attribute: "dtype",
        message: format!("{kind} is no element type"),
    })?;
    let depth = match exact(program, desc)?.as_deref() {
        Some([depth]) => depth.clone(),
        _ => Dim::from(desc.attr_long("depth")?.ok_or(Fault::MissingAttribute { attribute: "depth" })?),
    };
    Ok(OneHot { depth, dtype, allow_out_of_range: desc.attr_bool("allow_out_of_range")?.unwrap_or(false) })
}

pub(super) fn interpolate(
    program: &Program,
    desc: &OpDesc,
    kind: InterpolateKind,
) -> Result<Interpolate, Fault> {
    let size = |attribute| {
        Ok::<_, Fault>(Dim::from(desc.attr_long(attribute)?.ok_or(Fault::MissingAttribute { attribute })?))
    };
    let size = match exact(program, desc)? {
        Some(exact) => exact,
        None => vec![size("out_h")?, size("out_w")?],
    };
    let scale = match *desc.attr_floats("scale")?.unwrap_or_default() {
        [height, width] => [height.into(), width.into()],
        _ => [0.0; 2],
    };
    let align_corners = desc.attr_bool("align_corners")?.unwrap_or(false);
    let align_mode = desc.attr_long("align_mode")?.unwrap_or(0);
    Ok(Interpolate { kind, size, scale, align_corners, align_mode })
}

pub(super) fn slice(desc: &OpDesc) -> Result<Slice, Fault> {
    let numbers = |attribute| desc.attr_longs(attribute)?.ok_or(Fault::MissingAttribute { attribute });
    let strides = desc.attr_longs("strides")?.unwrap_or_default();
    Ok(Slice { axes: numbers("axes")?, starts: numbers("starts")?, ends: numbers("ends")?, strides })
}
