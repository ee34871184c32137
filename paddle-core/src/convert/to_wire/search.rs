//! Operators that find elements, on their way to the wire.

use super::operators::whole;
use crate::convert::dialect::DIMS;
use crate::convert::types::{dim_text, element};
use crate::ops::{Auc, CumSum, OneHot, TopK};
use crate::program::Type;
use crate::wire::OpAttr;

/// Whether PaddlePaddle's `gather` does the same: a list of numbers, which rows may have one of each, but not rows of
/// both.
pub(in crate::convert) fn is_plain_gather(x: &Type, index: &Type) -> bool {
    index.rank() == 1 && (x.rows.is_none() || index.rows.is_none())
}

/// The attributes of elements in order.
pub(super) fn describe_top_k(op: &TopK) -> Vec<OpAttr> {
    let axis = whole("axis", op.axis);
    match op.k {
        Some(k) => {
            vec![whole("k", k), axis, OpAttr::bool("largest", op.largest), OpAttr::bool("sorted", true)]
        }
        None => vec![axis, OpAttr::bool("descending", op.largest)],
    }
}

/// The attributes of sums so far.
pub(super) fn describe_cumsum(op: &CumSum) -> Vec<OpAttr> {
    vec![
        whole("axis", op.axis),
        OpAttr::bool("flatten", false),
        OpAttr::bool("exclusive", op.exclusive),
        OpAttr::bool("reverse", op.reverse),
    ]
}

/// The attributes of rows with a single 1, and the exact depth beside them if it is not known.
pub(super) fn describe_one_hot(op: &OneHot) -> Vec<OpAttr> {
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

/// The attributes of counts of ranks. PaddlePaddle computes the same area, whatever the curve is called.
pub(super) fn describe_auc(op: &Auc) -> Vec<OpAttr> {
    vec![
        OpAttr::string("curve", "ROC"),
        whole("num_thresholds", op.num_thresholds),
        whole("slide_steps", op.slide_steps),
    ]
}
