//! `store`.

use paddle_core::ops::Store;

use super::Evaluate;
use crate::reference::call::{Call, Results};

impl Evaluate for Store {
    /// What the parameter becomes.
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(vec![call.read(1)])
    }
}
