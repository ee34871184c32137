//! What takes tokens of sequences, or counts them: `sequence_expand_as`, `sequence_reverse`, `sequence_range`, `sequence_length`,
//! `sequence_window`.

use paddle_core::ops::{
    SequenceExpandAs, SequenceLength, SequenceRange, SequenceReverse, SequenceWindow, SequenceWindowGrad,
};
use paddle_core::plan::Unsupported;
use paddle_core::program::DType;

use super::{Compile, constant};
use crate::gpu::form::{Float, Long, Signed, Unsigned, Variable, each, for_each, otherwise, scalar, when};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::sequences::{of_token, tokens};
use crate::gpu::tensor::{Call, Element};

impl Compile for SequenceExpandAs {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.out_shape(0).to_vec();
        Ok(Kernel::new().stage(Grid::Items(shape.clone()), || {
            let (x, offsets, out) = (call.input(0), call.input(2), call.output(0));
            each(out.elements(), |index| {
                let width = scalar(&shape[1..]);
                let token = index / width;
                out.copy(index, &x, of_token(&offsets, token) * width + (index - token * width));
            });
        }))
    }
}

impl Compile for SequenceReverse {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.out_shape(0).to_vec();
        Ok(Kernel::new().stage(Grid::Items(shape.clone()), || {
            let (x, offsets, out) = (call.input(0), call.input(1), call.output(0));
            each(out.elements(), |index| {
                let width = scalar(&shape[1..]);
                let token = index / width;
                let (first, end) = tokens(&offsets, of_token(&offsets, token));
                let source = first + (end - Unsigned::of(1) - token);
                out.copy(index, &x, source * width + (index - token * width));
            });
        }))
    }
}

impl Compile for SequenceRange {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(Kernel::new().stage(Grid::Items(call.out_shape(0).to_vec()), || {
            let (offsets, out) = (call.input(1), call.output(0));
            each(out.elements(), |token| {
                let (first, _) = tokens(&offsets, of_token(&offsets, token));
                out.store(token, Element::Long(Long::of_unsigned(token - first)));
            });
        }))
    }
}

impl Compile for SequenceLength {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(Kernel::new().stage(Grid::Items(call.out_shape(0).to_vec()), || {
            let (offsets, out) = (call.input(1), call.output(0));
            each(out.elements(), |sequence| {
                let (first, end) = tokens(&offsets, sequence);
                out.store(sequence, Element::Long(Long::of_unsigned(end - first)));
            });
        }))
    }
}

/// A bound that is not beyond any token.
fn near(value: i64) -> i32 {
    value.clamp(-(1 << 30), 1 << 30) as i32
}

impl Compile for SequenceWindow {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (shape, of_out) = (call.shape(0).to_vec(), call.out_shape(0).to_vec());
        Ok(Kernel::new().stage(Grid::Items(of_out.clone()), || {
            let (x, offsets, out) = (call.input(0), call.input(1), call.output(0));
            each(out.elements(), |index| {
                let width = scalar(&shape[1..]);
                let row = scalar(&of_out[1..]);
                let token = index / row;
                let within = index - token * row;
                let place = within / width;
                let (first, end) = tokens(&offsets, of_token(&offsets, token));
                let at = token.as_signed() + place.as_signed() + Signed::of(near(self.start));
                let is_there = at.greater_equal(first.as_signed()) & at.less(end.as_signed());
                when(is_there, || out.copy(index, &x, at.as_unsigned() * width + (within - place * width)));
                otherwise(|| out.store(index, constant(self.pad_value, out.dtype)));
            });
        }))
    }
}

impl Compile for SequenceWindowGrad {
    fn is_supported(&self, types: &[DType]) -> bool {
        types.last() == Some(&DType::F32)
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (shape, of_grad) = (call.shape(0).to_vec(), call.shape(1).to_vec());
        Ok(Kernel::new().stage(Grid::Items(shape.clone()), || {
            let (grad, offsets, out, u) = (call.input(1), call.input(2), call.output(0), Unsigned::of);
            each(out.elements(), |index| {
                let width = scalar(&shape[1..]);
                let token = index / width;
                let column = index - token * width;
                let (first, end) = tokens(&offsets, of_token(&offsets, token));
                let sum = Variable::new(Float::constant(0.0));
                // Windows further in front see the token at a later place.
                for_each(u(0), u(near(self.length) as u32), u(1), |back| {
                    let place = u(near(self.length) as u32) - u(1) - back;
                    let at = token.as_signed() - place.as_signed() - Signed::of(near(self.start));
                    when(at.greater_equal(first.as_signed()) & at.less(end.as_signed()), || {
                        let of_window = at.as_unsigned() * scalar(&of_grad[1..]) + place * width + column;
                        sum.set(sum.get() + grad.float(of_window));
                    });
                });
                out.set(index, sum.get());
            });
        }))
    }
}
