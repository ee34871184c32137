//! `expand_as_v2`, `size`.

use paddle_core::ops::{Expand, Size};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::shape::{extent, reduction};
use crate::reference::values::Values;

impl Evaluate for Expand {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(vec![call.read(0).at(&reduction(&call.shape(1), &self.axes))])
    }
}

impl Evaluate for Size {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let count = call.output_shape(0).iter().product();
        Ok(vec![Values::round(call.output_dtype(0), vec![extent(&call.shape(0), &self.axes) as f64; count])])
    }
}
