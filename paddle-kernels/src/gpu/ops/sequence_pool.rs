//! `sequence_pool`, `sequence_softmax` and their gradients: a thread for each column of a sequence.

use paddle_core::ops::{PoolType, Real, SequencePool, SequencePoolGrad, SequenceSoftmax};
use paddle_core::plan::Unsupported;
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::form::{Float, Unsigned, Variable, each, for_each, otherwise, scalar, when};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::sequences::{of_token, tokens};
use crate::gpu::tensor::{Call, Tensor};

fn is_float(types: &[DType]) -> bool {
    types[0] == DType::F32
}

/// The first token with the largest value in a column. What is not a number counts as larger than any number.
fn largest(x: &Tensor, first: Unsigned, end: Unsigned, width: Unsigned, column: Unsigned) -> Unsigned {
    let best = Variable::new(first);
    for_each(first, end, Unsigned::of(1), |token| {
        let (value, most) = (x.float(token * width + column), x.float(best.get() * width + column));
        let (no_value, no_most) = (value.is_not_a_number(), most.is_not_a_number());
        let is_larger = value.greater(most) & !no_value & !no_most;
        when(is_larger | (no_value & !no_most), || best.set(token));
    });
    best.get()
}

impl Compile for SequencePool {
    fn is_supported(&self, types: &[DType]) -> bool {
        is_float(types)
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        Ok(Kernel::new().stage(Grid::Items(call.out_shape(0).to_vec()), || {
            let (x, offsets, out, u) = (call.input(0), call.input(1), call.output(0), Unsigned::of);
            each(out.elements(), |index| {
                let width = scalar(&shape[1..]);
                let sequence = index / width;
                let column = index - sequence * width;
                let (first, end) = tokens(&offsets, sequence);
                when(first.is(end), || out.set(index, Float::of(self.pad_value)));
                otherwise(|| {
                    let value = |token: Unsigned| x.float(token * width + column);
                    let sum = || {
                        let sum = Variable::new(Float::constant(0.0));
                        for_each(first, end, u(1), |token| sum.set(sum.get() + value(token)));
                        sum.get()
                    };
                    let length = || (end - first).to_float();
                    out.set(
                        index,
                        match self.pooltype {
                            PoolType::Average => sum() / length(),
                            PoolType::Sum => sum(),
                            PoolType::Sqrt => sum() / length().sqrt(),
                            PoolType::Max => value(largest(&x, first, end, width, column)),
                            PoolType::First => value(first),
                            PoolType::Last => value(end - u(1)),
                        },
                    );
                });
            });
        }))
    }
}

impl Compile for SequencePoolGrad {
    fn is_supported(&self, types: &[DType]) -> bool {
        is_float(types)
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        Ok(Kernel::new().stage(Grid::Items(shape.clone()), || {
            let (grad, offsets, out, u) = (call.input(1), call.input(2), call.output(0), Unsigned::of);
            let x = (self.pooltype == PoolType::Max).then(|| call.input(0));
            each(out.elements(), |index| {
                let width = scalar(&shape[1..]);
                let token = index / width;
                let column = index - token * width;
                let sequence = of_token(&offsets, token);
                let (first, end) = tokens(&offsets, sequence);
                let grad = grad.float(sequence * width + column);
                let length = || (end - first).to_float();
                let only = |chosen: Unsigned| Float::select(token.is(chosen), grad, Float::constant(0.0));
                let result = match (self.pooltype, &x) {
                    (PoolType::Average, _) => grad / length(),
                    (PoolType::Sqrt, _) => grad / length().sqrt(),
                    (PoolType::Max, Some(x)) => only(largest(x, first, end, width, column)),
                    (PoolType::First, _) => only(first),
                    (PoolType::Last, _) => only(end - u(1)),
                    (PoolType::Sum | PoolType::Max, _) => grad,
                };
                out.set(index, result);
            });
        }))
    }
}

impl Compile for SequenceSoftmax {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        let rows = [call.shape(1).to_vec(), shape[1..].to_vec()].concat();
        Ok(Kernel::new().stage(Grid::Items(rows), || {
            let (x, offsets, out, u) = (call.input(0), call.input(1), call.output(0), Unsigned::of);
            let width = scalar(&shape[1..]);
            each((offsets.elements() - u(1)) * width, |index| {
                let sequence = index / width;
                let column = index - sequence * width;
                let (first, end) = tokens(&offsets, sequence);
                let value = |token: Unsigned| x.float(token * width + column);
                let most = Variable::new(Float::constant(f32::NEG_INFINITY));
                for_each(first, end, u(1), |token| most.set(value(token).max(most.get())));
                let sum = Variable::new(Float::constant(0.0));
                for_each(first, end, u(1), |token| sum.set(sum.get() + (value(token) - most.get()).exp()));
                for_each(first, end, u(1), |token| {
                    out.set(token * width + column, (value(token) - most.get()).exp() / sum.get());
                });
            });
        }))
    }
}
