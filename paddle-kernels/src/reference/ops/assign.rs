//! `assign`, and what is a copy, too.

use paddle_core::ops::{Assign, StopGradient, ToDevice};

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

impl Evaluate for ToDevice {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(vec![call.read(0)])
    }
}
