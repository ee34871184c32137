//! `sequence_pad` and `sequence_unpad`. Threads share the sequences.

use std::marker::PhantomData;

use paddle_core::ops::{Number, SequencePad, SequenceUnpad};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::product;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element};
use crate::cpu::number::{Constant, Element};
use crate::cpu::operands::Operands;
use crate::cpu::sequence_pieces::{Shared, sequences, sequences_of_piece, share};
use crate::messages::enough_places;

struct Pad<T> {
    places: Extent,
    dims: Vec<Extent>,
    pad: T,
}

impl Compile for SequencePad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, offsets, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let [_, places, dims @ ..] = &out.1.shape[..] else { return single.refuse("of a scalar") };
        let (places, dims, pad) = (*places, dims.to_vec(), Number::Float(self.pad_value));
        let body: Box<dyn Body> =
            with_element!(x.1.dtype, T => Box::new(Pad::<T> { places, dims, pad: T::constant(pad) }));
        Ok((single.signature([x, offsets], [out]), body))
    }
}

impl<T: Constant> Body for Pad<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (places, width) = (self.places.get(operands.sizes()), product(&self.dims, operands.sizes()));
        let (reads, writes) = operands.split();
        let (x, offsets, out) = (reads.get::<T>(0), reads.get::<i64>(1), writes.one::<T>());
        enough_places(offsets, places)?;
        let piece = sequences_of_piece(offsets, out.len());
        let parts = (Shared::of_sequences(out, places * width), Shared::nothing(), Shared::nothing());
        share(&machine.team, offsets, piece, parts, &|piece| {
            let rows = piece.a.chunks_exact_mut((places * width).max(1));
            for (ends, row) in piece.offsets.windows(2).zip(rows) {
                let x = &x[ends[0] as usize * width..ends[1] as usize * width];
                let (tokens, rest) = row.split_at_mut(x.len());
                tokens.copy_from_slice(x);
                rest.fill(self.pad);
            }
        });
        Ok(())
    }
}

struct Unpad<T> {
    places: Extent,
    dims: Vec<Extent>,
    element: PhantomData<T>,
}

impl Compile for SequenceUnpad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, offsets, out) = (single.input(0)?, single.input(2)?, single.output(0)?);
        let [_, places, dims @ ..] = &x.1.shape[..] else { return single.refuse("of a scalar") };
        let (places, dims) = (*places, dims.to_vec());
        let body: Box<dyn Body> =
            with_element!(x.1.dtype, T => Box::new(Unpad::<T> { places, dims, element: PhantomData }));
        Ok((single.signature([x, offsets], [out]), body))
    }
}

impl<T: Element> Body for Unpad<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (places, width) = (self.places.get(operands.sizes()), product(&self.dims, operands.sizes()));
        let (reads, writes) = operands.split();
        let (x, offsets, out) = (reads.get::<T>(0), reads.get::<i64>(1), writes.one::<T>());
        enough_places(offsets, places)?;
        let piece = sequences_of_piece(offsets, out.len());
        sequences(&machine.team, out, offsets, width, piece, &|first, offsets, mut out| {
            for (row, ends) in offsets.windows(2).enumerate() {
                let (to, rest) = out.split_at_mut((ends[1] - ends[0]) as usize * width);
                to.copy_from_slice(&x[(first + row) * places * width..][..to.len()]);
                out = rest;
            }
        });
        Ok(())
    }
}
