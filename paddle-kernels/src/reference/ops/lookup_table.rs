//! `lookup_table_v2`.

use paddle_core::ops::{LookupTable, LookupTableGrad};
use paddle_core::plan::KernelError;

use super::Evaluate;
use crate::messages;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

/// The entry that each id stands for; `None` for padding.
fn entries(call: &Call<'_>, padding_idx: i64) -> Result<Vec<Option<usize>>, KernelError> {
    let Values::I64(ids) = call.read(0) else { panic!("the shape rule wants ids of type i64") };
    let count = call.shape(1)[0];
    let entry = |(at, &id): (usize, &i64)| match usize::try_from(id) {
        Ok(entry) if entry < count => Ok((id != padding_idx).then_some(entry)),
        _ => Err(messages::entry_out_of_range(id, at, count)),
    };
    ids.iter().enumerate().map(entry).collect()
}

impl Evaluate for LookupTable {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let size = call.shape(1)[1];
        let elements = |entry: Option<usize>| (0..size).map(move |j| entry.map(|entry| entry * size + j));
        let taken: Vec<_> = entries(call, self.padding_idx)?.into_iter().flat_map(elements).collect();
        Ok(vec![call.read(1).at_or_zero(&taken)])
    }
}

impl Evaluate for LookupTableGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (grad, size) = (call.read(2).floats(), call.shape(1)[1]);
        let mut out = vec![0.0; call.output_shape(0).iter().product()];
        for (row, entry) in entries(call, self.0.padding_idx)?.into_iter().enumerate() {
            for (j, entry) in (0..size).filter_map(|j| Some((j, entry?))) {
                out[entry * size + j] += grad[row * size + j];
            }
        }
        Ok(vec![Values::round(call.output_dtype(0), out)])
    }
}
