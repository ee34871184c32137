//! Writes operators with sizes or bounds. Sizes that are no numbers are added as text.

use crate::convert::derived::{whole, wholes};
use crate::convert::dialect::DIMS;
use crate::convert::types::{dim_text, element};
use crate::ops::{OneHot, Reshape, Slice, Split, Tile};
use crate::program::{Dim, Type};
use crate::wire::OpAttr;

/// Sizes behind an optional first one. The exact sizes are added if these do not determine them.
fn sizes(name: &str, first: Option<i32>, dims: &[Dim]) -> Vec<OpAttr> {
    let known: Vec<Option<i32>> =
        dims.iter().map(|dim| dim.constant().and_then(|size| i32::try_from(size).ok())).collect();
    let is_exact = known.iter().all(|dim| dim.is_some_and(|size| size > 0));
    let shape: Vec<i32> = first.into_iter().chain(known.into_iter().map(|dim| dim.unwrap_or(-1))).collect();
    let mut attrs = vec![OpAttr::ints(name, shape)];
    if !is_exact {
        attrs.push(OpAttr::strings(DIMS, dims.iter().map(dim_text)));
    }
    attrs
}

/// The size of the rows is 0, which keeps it.
pub(super) fn reshape(op: &Reshape, x: Option<&Type>) -> Vec<OpAttr> {
    sizes("shape", x.and_then(|x| x.rows).map(|_| 0), &op.dims)
}

/// Rows are repeated once.
pub(super) fn tile(op: &Tile, x: Option<&Type>) -> Vec<OpAttr> {
    sizes("repeat_times", x.and_then(|x| x.rows).map(|_| 1), &op.repeat_times)
}

/// The parts have these sizes, instead of equal ones.
pub(super) fn split(op: &Split) -> Vec<OpAttr> {
    let mut attrs = vec![whole("axis", op.axis), OpAttr::int("num", 0)];
    attrs.extend(sizes("sections", None, &op.sections));
    attrs
}

pub(super) fn one_hot(op: &OneHot) -> Vec<OpAttr> {
    let mut attrs = vec![
        whole("depth", op.depth.constant().unwrap_or(-1)),
        OpAttr::int("dtype", element(op.dtype).into()),
        OpAttr::bool("allow_out_of_range", op.allow_out_of_range),
    ];
    if op.depth.constant().is_none() {
        attrs.push(OpAttr::strings(DIMS, [dim_text(&op.depth)]));
    }
    attrs
}

/// All bounds are attributes, none is a value, and no axis is left out.
pub(super) fn slice(op: &Slice) -> Vec<OpAttr> {
    let mut attrs = vec![
        wholes("axes", &op.axes),
        wholes("starts", &op.starts),
        wholes("ends", &op.ends),
        OpAttr::ints("infer_flags", vec![1; op.axes.len()]),
        OpAttr::ints("decrease_axis", []),
    ];
    if !op.strides.is_empty() {
        attrs.push(wholes("strides", &op.strides));
    }
    attrs
}
