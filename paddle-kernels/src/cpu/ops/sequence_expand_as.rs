//! `sequence_expand_as`. Threads share the sequences.

use std::marker::PhantomData;

use paddle_core::ops::SequenceExpandAs;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::product;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element};
use crate::cpu::number::Element;
use crate::cpu::operands::Operands;
use crate::cpu::sequence_pieces::{sequences, sequences_of_piece};

struct ExpandAs<T> {
    dims: Vec<Extent>,
    element: PhantomData<T>,
}

impl Compile for SequenceExpandAs {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, offsets, out) = (single.input(0)?, single.input(2)?, single.output(0)?);
        let [_, dims @ ..] = &x.1.shape[..] else { return single.refuse("of a scalar") };
        let dims = dims.to_vec();
        let body: Box<dyn Body> =
            with_element!(x.1.dtype, T => Box::new(ExpandAs::<T> { dims, element: PhantomData }));
        Ok((single.signature([x, offsets], [out]), body))
    }
}

impl<T: Element> Body for ExpandAs<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let width = product(&self.dims, operands.sizes());
        let (reads, writes) = operands.split();
        let (x, offsets, out) = (reads.get::<T>(0), reads.get::<i64>(1), writes.one::<T>());
        assert_eq!(x.len(), (offsets.len() - 1) * width, "a row for each sequence");
        let piece = sequences_of_piece(offsets, out.len());
        sequences(&machine.team, out, offsets, width, piece, &|first, offsets, out| {
            let mut rest = out;
            for (row, ends) in offsets.windows(2).enumerate() {
                let x = &x[(first + row) * width..][..width];
                let (tokens, behind) = rest.split_at_mut((ends[1] - ends[0]) as usize * width);
                repeat(x, tokens);
                rest = behind;
            }
        });
        Ok(())
    }
}

/// Fills `out` with copies of a row.
#[inline(always)]
pub(super) fn repeat<T: Copy>(row: &[T], out: &mut [T]) {
    /// Longer rows are copied one by one.
    const SHORT: usize = 64;
    match row {
        [] => {}
        [only] => out.fill(*only),
        row if row.len() < SHORT && out.len() > row.len() => {
            // What is there already is copied behind itself, twice as much each time.
            out[..row.len()].copy_from_slice(row);
            let mut done = row.len();
            while done < out.len() {
                let more = done.min(out.len() - done);
                let (from, to) = out.split_at_mut(done);
                to[..more].copy_from_slice(&from[..more]);
                done += more;
            }
        }
        row => out.chunks_exact_mut(row.len()).for_each(|token| token.copy_from_slice(row)),
    }
}
