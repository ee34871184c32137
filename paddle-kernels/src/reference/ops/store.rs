//! `store`.

use paddle_core::ops::Store;

use super::Evaluate;
use crate::reference::call::{Call, Results};

impl Evaluate for Store {
    /// The new value of the parameter.
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(vec![call.read(1)])
    }
}
