//! `sequence_reverse`. Threads share the sequences.

use std::marker::PhantomData;

use paddle_core::ops::SequenceReverse;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::product;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element};
use crate::cpu::number::Element;
use crate::cpu::operands::Operands;
use crate::cpu::sequence_pieces::{sequences, sequences_of_piece};

struct Reverse<T> {
    dims: Vec<Extent>,
    element: PhantomData<T>,
}

impl Compile for SequenceReverse {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, offsets, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let [_, dims @ ..] = &x.1.shape[..] else { return single.refuse("of a scalar") };
        let dims = dims.to_vec();
        let body: Box<dyn Body> =
            with_element!(x.1.dtype, T => Box::new(Reverse::<T> { dims, element: PhantomData }));
        Ok((single.signature([x, offsets], [out]), body))
    }
}

impl<T: Element> Body for Reverse<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let width = product(&self.dims, operands.sizes());
        let (reads, writes) = operands.split();
        let (x, offsets, out) = (reads.get::<T>(0), reads.get::<i64>(1), writes.one::<T>());
        assert_eq!(x.len(), out.len(), "as many tokens as before");
        let piece = sequences_of_piece(offsets, out.len());
        sequences(&machine.team, out, offsets, width, piece, &|_, offsets, out| {
            let mut x = &x[offsets[0] as usize * width..][..out.len()];
            let mut out = out;
            for ends in offsets.windows(2) {
                let elements = (ends[1] - ends[0]) as usize * width;
                let (tokens, x_behind) = x.split_at(elements);
                let (reversed, out_behind) = out.split_at_mut(elements);
                match width {
                    1 => reversed.iter_mut().rev().zip(tokens).for_each(|(out, x)| *out = *x),
                    _ => {
                        let tokens = tokens.chunks_exact(width.max(1));
                        let reversed = reversed.chunks_exact_mut(width.max(1)).rev();
                        reversed.zip(tokens).for_each(|(out, x)| out.copy_from_slice(x));
                    }
                }
                (x, out) = (x_behind, out_behind);
            }
        });
        Ok(())
    }
}
