//! `sequence_align`.

use std::marker::PhantomData;

use paddle_core::ops::SequenceAlign;
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element};
use crate::cpu::number::Element;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;
use crate::messages::same_lengths;

/// Elements that one thread copies at a time.
const PIECE: usize = 1 << 14;

struct Align<T>(PhantomData<T>);

impl Compile for SequenceAlign {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, own, others, out) = (single.input(0)?, single.input(2)?, single.input(3)?, single.output(0)?);
        let body: Box<dyn Body> = with_element!(x.1.dtype, T => Box::new(Align::<T>(PhantomData)));
        Ok((single.signature([x, own, others], [out]), body))
    }
}

impl<T: Element> Body for Align<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        same_lengths(reads.get::<i64>(1), reads.get::<i64>(2))?;
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        pieces(&machine.team, out, PIECE, &|index, out| {
            out.copy_from_slice(&x[index * PIECE..][..out.len()]);
        });
        Ok(())
    }
}
