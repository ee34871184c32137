//! Operators that move elements, on their way to the wire.

use super::operators::{push_float, wholes};
use crate::ops::{Pad, Slice};
use crate::wire::OpAttr;

/// The attributes of a slice.
pub(super) fn describe_slice(op: &Slice) -> Vec<OpAttr> {
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

/// The attributes of a padding.
pub(super) fn describe_pad(op: &Pad) -> Vec<OpAttr> {
    let mut attrs = vec![wholes("paddings", &op.paddings)];
    push_float(&mut attrs, "pad_value", op.pad_value);
    attrs
}
