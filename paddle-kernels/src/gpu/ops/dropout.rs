//! `dropout` and its gradient. The mask is that of every backend.

use paddle_core::ops::{Dropout, DropoutGrad, Real};
use paddle_core::plan::Unsupported;

use super::Compile;
use crate::gpu::form::{Float, Long, Register, Truth, Unsigned, each};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::random::{position_of_row, word};
use crate::gpu::tensor::{Call, Element};
use crate::random::dropped_below;

impl Compile for Dropout {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        Ok(Kernel::new().stage(Grid::Items(shape.clone()), || {
            let (x, out, mask) = (call.input(0), call.output(0), call.output(1));
            let bound = dropped_below(self.dropout_prob);
            let divisor = Float::of(self.dropout_implementation.divisor(self.dropout_prob));
            let numbers = (call.inputs() > 1).then(|| call.input(1));
            each(out.elements(), |index| {
                let at = match &numbers {
                    None => Long::of_unsigned(index),
                    Some(numbers) => position_of_row(numbers, index, &shape[1..]),
                };
                let kept = match u32::try_from(bound) {
                    Ok(bound) => word(at, call.group.random_stream).greater_equal(Unsigned::of(bound)),
                    Err(_) => Truth::of(false),
                };
                out.set(index, Float::choose(kept, x.float(index) / divisor, Float::constant(0.0)));
                mask.store(index, Element::Truth(kept));
            });
        }))
    }
}

impl Compile for DropoutGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(Kernel::new().stage(Grid::Items(call.out_shape(0).to_vec()), || {
            let (mask, grad, out) = (call.input(0), call.input(1), call.output(0));
            let divisor = Float::of(self.dropout_implementation.divisor(self.dropout_prob));
            each(out.elements(), |index| {
                let kept = mask.load(index).truth();
                out.set(index, Float::choose(kept, grad.float(index) / divisor, Float::constant(0.0)));
            });
        }))
    }
}
