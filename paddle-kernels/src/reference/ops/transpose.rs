//! `transpose2`.

use paddle_core::ops::Transpose;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::shape::moved;

impl Evaluate for Transpose {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let taken = moved(&call.shape(0), &call.output_shape(0), |position| {
            let mut source = vec![0; position.len()];
            for (&axis, at) in self.perm.iter().zip(position) {
                source[axis as usize] = at;
            }
            Some(source)
        });
        Ok(vec![call.read(0).at_or_zero(&taken)])
    }
}
