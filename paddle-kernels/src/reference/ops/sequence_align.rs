//! `sequence_align`.

use paddle_core::plan::KernelError;

use crate::messages::same_lengths;
use crate::reference::call::Call;
use crate::reference::sequences::offsets;
use crate::reference::values::Values;

pub(super) fn align(call: &Call<'_>) -> Result<Vec<Values>, KernelError> {
    let [own, others] = [0, 1].map(|k| offsets(call, 2 + k, call.shape(k)[0]));
    same_lengths(&own, &others)?;
    Ok(vec![call.read(0)])
}
