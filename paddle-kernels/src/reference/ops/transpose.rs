//! `transpose2`.

use paddle_core::ops::Transpose;

use crate::reference::call::Call;
use crate::reference::shape::moved;
use crate::reference::values::Values;

pub(super) fn transpose(op: &Transpose, call: &Call<'_>) -> Values {
    let taken = moved(&call.shape(0), &call.output_shape(0), |position| {
        let mut source = vec![0; position.len()];
        for (&axis, at) in op.perm.iter().zip(position) {
            source[axis as usize] = at;
        }
        Some(source)
    });
    call.read(0).at_or_zero(&taken)
}
