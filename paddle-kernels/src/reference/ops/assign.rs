//! `assign`.

use paddle_core::ops::{Assign, StopGradient};

use super::Evaluate;
use crate::reference::call::{Call, Results};

impl Evaluate for Assign {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(vec![call.read(0)])
    }
}

impl Evaluate for StopGradient {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(vec![call.read(0)])
    }
}
