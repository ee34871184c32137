//! `sequence_align`, `sequence_reshape`: the same elements as other sequences, which have to have as many.

use paddle_core::ops::{SequenceAlign, SequenceReshape};
use paddle_core::plan::Unsupported;

use super::Compile;
use crate::gpu::form::{each, scalar};
use crate::gpu::kernel::{Grid, Kernel, product};
use crate::gpu::sequences::{check, check_lengths, tokens};
use crate::gpu::tensor::Call;
use crate::messages::same_elements;

/// The offsets of what is read, and of what is made.
const OWN: usize = 2;
const OTHERS: usize = 3;

fn copied(checked: Kernel, call: Call<'_>) -> Kernel {
    checked.stage(Grid::Items(call.out_shape(0).to_vec()), || {
        let (x, out) = (call.input(0), call.output(0));
        each(out.elements(), |index| out.copy(index, &x, index));
    })
}

impl Compile for SequenceAlign {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(copied(check_lengths(&call, OWN, OTHERS), call))
    }
}

impl Compile for SequenceReshape {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let of = [(OWN, call.shape(0)[1..].to_vec()), (OTHERS, call.out_shape(0)[1..].to_vec())];
        let checked = check(&call, OWN, |sequence| {
            let [own, others] = of.each_ref().map(|(offsets, token)| {
                let (first, end) = tokens(&call.input(*offsets), sequence);
                (end - first) * scalar(token)
            });
            own.is_not(others)
        });
        let of = of.map(|(offsets, token)| (call.input_number(offsets), call.shape(offsets).to_vec(), token));
        let checked = checked.explain(move |evidence, _| {
            let [own, others] = of.each_ref().map(|(number, shape, token)| {
                (evidence.offsets(*number, shape), product(token, evidence.sizes))
            });
            same_elements((&own.0, own.1), (&others.0, others.1))
                .expect_err("a sequence that the device found")
        });
        Ok(copied(checked, call))
    }
}
