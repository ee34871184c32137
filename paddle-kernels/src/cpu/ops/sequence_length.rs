//! `sequence_length`.

use paddle_core::ops::SequenceLength;
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single};
use crate::cpu::operands::Operands;

struct Length;

impl Compile for SequenceLength {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (offsets, out) = (single.input(1)?, single.output(0)?);
        Ok((single.signature([offsets], [out]), Box::new(Length)))
    }
}

impl Body for Length {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let (offsets, out) = (reads.get::<i64>(0), writes.one::<i64>());
        assert_eq!(out.len() + 1, offsets.len(), "a number for each sequence");
        for (out, ends) in out.iter_mut().zip(offsets.windows(2)) {
            *out = ends[1] - ends[0];
        }
        Ok(())
    }
}
