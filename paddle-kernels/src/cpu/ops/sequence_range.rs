//! `sequence_range`. Threads share the sequences.

use paddle_core::ops::SequenceRange;
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single};
use crate::cpu::operands::Operands;
use crate::cpu::sequence_pieces::{sequences, sequences_of_piece};

struct Range;

impl Compile for SequenceRange {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (offsets, out) = (single.input(1)?, single.output(0)?);
        Ok((single.signature([offsets], [out]), Box::new(Range)))
    }
}

impl Body for Range {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let (offsets, out) = (reads.get::<i64>(0), writes.one::<i64>());
        let piece = sequences_of_piece(offsets, out.len());
        sequences(&machine.team, out, offsets, 1, piece, &|_, offsets, out| {
            for ends in offsets.windows(2) {
                let first = (ends[0] - offsets[0]) as usize;
                for (position, to) in (0..ends[1] - ends[0]).zip(&mut out[first..]) {
                    *to = position;
                }
            }
        });
        Ok(())
    }
}
