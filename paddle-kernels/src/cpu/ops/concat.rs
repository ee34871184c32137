//! `concat`, `split`.

use std::marker::PhantomData;

use paddle_core::ops::{Concat, Split};
use paddle_core::plan::{Extent, KernelError, OperandType, Takes, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element};
use crate::cpu::number::Element;
use crate::cpu::operands::{Operands, Signature};
use crate::cpu::pieces::pieces;
use crate::cpu::view::View;

/// Elements that one thread moves at a time.
const PIECE: usize = 1 << 14;

/// Values that are joined along an axis: for each position before the axis, the result has a block of each value.
struct Blocks {
    /// The extents from the axis on, of each value.
    extents: Vec<Vec<Extent>>,
}

impl Blocks {
    fn new<'a>(parts: impl Iterator<Item = &'a OperandType>, axis: i64) -> Self {
        let extents = |part: &OperandType| part.in_memory()[part.layout.position(axis as usize)..].to_vec();
        Blocks { extents: parts.map(extents).collect() }
    }

    /// The number of elements in a block of value `k`.
    fn size(&self, k: usize, sizes: &[usize]) -> usize {
        self.extents[k].iter().map(|extent| extent.get(sizes)).product()
    }

    /// The number of elements in the blocks of all values.
    fn total(&self, sizes: &[usize]) -> usize {
        (0..self.extents.len()).map(|k| self.size(k, sizes)).sum()
    }
}

struct Join<T> {
    blocks: Blocks,
    element: PhantomData<T>,
}

impl Compile for Concat {
    fn takes_channels_last(&self, _: usize) -> Takes {
        Takes::Alike
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (reads, out) = (single.inputs()?, single.output(0)?);
        let blocks = Blocks::new(reads.iter().map(|(_, layout)| layout), self.axis);
        let body: Box<dyn Body> =
            with_element!(out.1.dtype, T => Box::new(Join::<T> { blocks, element: PhantomData }));
        Ok((Signature { reads, writes: vec![out], in_place: false }, body))
    }
}

impl<T: Element> Body for Join<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (sizes, blocks) = (operands.sizes(), &self.blocks);
        let total = blocks.total(sizes);
        let (reads, writes) = operands.split();
        let out = writes.one::<T>();
        let whole = (PIECE / total.max(1)).max(1);
        pieces(&machine.team, out, whole * total, &|index, out| {
            let mut start = 0;
            for k in 0..blocks.extents.len() {
                let size = blocks.size(k, sizes);
                let rows = out.chunks_exact_mut(total.max(1));
                // A value without elements has no blocks.
                let from = reads.get::<T>(k)[index * whole * size..].chunks_exact(size.max(1));
                for (out, from) in rows.zip(from) {
                    out[start..start + size].copy_from_slice(from);
                }
                start += size;
            }
        });
        Ok(())
    }
}

struct Part<T> {
    blocks: Blocks,
    element: PhantomData<T>,
}

impl Compile for Split {
    fn takes_channels_last(&self, _: usize) -> Takes {
        Takes::Alike
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, writes) = (single.input(0)?, single.outputs()?);
        let blocks = Blocks::new(writes.iter().map(|(_, layout)| layout), self.axis);
        let body: Box<dyn Body> =
            with_element!(x.1.dtype, T => Box::new(Part::<T> { blocks, element: PhantomData }));
        Ok((Signature { reads: vec![x], writes, in_place: false }, body))
    }
}

impl<T: Element> Body for Part<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (sizes, blocks) = (operands.sizes(), &self.blocks);
        let total = blocks.total(sizes);
        let (reads, writes) = operands.split();
        let x = reads.get::<T>(0);
        let mut start = 0;
        writes.each::<T>(|k, out| {
            let size = blocks.size(k, sizes);
            let view = View::at(start).axis(out.len() / size.max(1), total).axis(size, 1);
            pieces(&machine.team, out, PIECE, &|index, out| view.copy(x, index * PIECE, out));
            start += size;
        });
        Ok(())
    }
}
