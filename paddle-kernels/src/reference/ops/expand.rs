//! `expand_as_v2`, `size`.

use paddle_core::ops::{Expand, Size};

use crate::reference::call::Call;
use crate::reference::shape::{extent, reduction};
use crate::reference::values::Values;

pub(super) fn expand(op: &Expand, call: &Call<'_>) -> Values {
    call.read(0).at(&reduction(&call.shape(1), &op.axes))
}

pub(super) fn size(op: &Size, call: &Call<'_>) -> Values {
    Values::round(call.output_dtype(0), vec![extent(&call.shape(0), &op.axes) as f64])
}
