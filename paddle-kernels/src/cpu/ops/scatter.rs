//! `scatter`, `scatter_nd_add`, and the gradient of `gather`: slices that are written to given indices.

use std::marker::PhantomData;

use paddle_core::ops::{GatherGrad, Scatter, ScatterNdAdd};
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use super::gather::{Numbers, Positions};
use crate::cpu::along_axis::Along;
use crate::cpu::id_checks::first_outside;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element, with_float, with_number};
use crate::cpu::number::{Element, Float, Summed};
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;
use crate::messages::index_out_of_range;

/// The least number of elements that one thread writes at a time.
const PIECE: usize = 1 << 13;
/// The largest number of pieces. Every piece goes through all indices.
const MOST_PIECES: usize = 64;

/// The targets of updates. All blocks have equally many parts and equally many updates.
struct Targets<'a> {
    /// The number of parts in a block.
    parts: usize,
    /// The number of elements in a part.
    width: usize,
    /// The number of updates for a block.
    updates: usize,
    /// The part that an update of a block is written to.
    part: &'a (dyn Fn(usize, usize) -> usize + Sync),
}

/// Calls `start` with each piece of the result and its position. Then calls `put` with the part of each update, in the
/// order of the updates. So any number of threads gives the same bits.
fn put_parts<T: Element>(
    machine: &Machine,
    targets: &Targets<'_>,
    updates: &[T],
    out: &mut [T],
    start: &(dyn Fn(usize, &mut [T]) + Sync),
    put: impl Fn(&mut [T], &[T]) + Sync,
) {
    let width = targets.width.max(1);
    let all = out.len() / width;
    let piece = (PIECE / width).max(all.div_ceil(MOST_PIECES)).max(1);
    pieces(&machine.team, out, piece * width, &|index, out| {
        let (first, count) = (index * piece, out.len() / width);
        start(first * width, out);
        for block in first / targets.parts..(first + count).div_ceil(targets.parts) {
            for update in 0..targets.updates {
                let part = block * targets.parts + (targets.part)(block, update);
                let part = part.wrapping_sub(first);
                if part < count {
                    let from = (block * targets.updates + update) * width;
                    put(&mut out[part * width..][..width], &updates[from..][..width]);
                }
            }
        }
    });
}

/// Adds an update to a part.
fn add<T: Summed>(part: &mut [T], update: &[T]) {
    part.iter_mut().zip(update).for_each(|(part, update)| *part = part.plus(*update));
}

struct Gathered<T> {
    numbers: Numbers,
    element: PhantomData<T>,
}

impl Compile for GatherGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (index, grad, out) = (single.input(1)?, single.input(2)?, single.output(0)?);
        let Some(numbers) = Numbers::new(&out, &index, &grad, self.0.axis) else {
            return single.refuse("along no axis");
        };
        let dtype = out.1.dtype;
        let body: Box<dyn Body> =
            with_float!(single, dtype, T => Box::new(Gathered::<T> { numbers, element: PhantomData }));
        Ok((single.signature([index, grad], [out]), body))
    }
}

impl<T: Float + Summed> Body for Gathered<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = operands.sizes();
        let (reads, writes) = operands.split();
        let (grad, out) = (reads.get::<T>(1), writes.one::<T>());
        let parts = self.numbers.checked(sizes, reads.get::<i64>(0))?;
        let targets = Targets {
            parts: parts.parts,
            width: parts.width,
            updates: parts.taken,
            part: &|block, update| parts.number(block, update),
        };
        put_parts(machine, &targets, grad, out, &|_, out| out.fill(T::ZERO), add);
        Ok(())
    }
}

struct Added<T> {
    positions: Positions,
    element: PhantomData<T>,
}

impl Compile for ScatterNdAdd {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, index, updates) = (single.input(0)?, single.input(1)?, single.input(2)?);
        let out = single.output(0)?;
        let Some(positions) = Positions::new(&x.1.shape, &index) else {
            return single.refuse("of positions of an unknown length");
        };
        let dtype = x.1.dtype;
        let body: Box<dyn Body> =
            with_number!(single, dtype, T => Box::new(Added::<T> { positions, element: PhantomData }));
        Ok((single.signature([x, index, updates], [out]), body))
    }
}

impl<T: Summed> Body for Added<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = operands.sizes();
        let (reads, writes) = operands.split();
        let (x, index, updates) = (reads.get::<T>(0), reads.get::<i64>(1), reads.get::<T>(2));
        self.positions.check(sizes, index)?;
        let (parts, width) = self.positions.parts(sizes);
        let targets = Targets {
            parts,
            width,
            updates: updates.len() / width.max(1),
            part: &|_, update| self.positions.part(sizes, index, update),
        };
        let copy = |from: usize, out: &mut [T]| out.copy_from_slice(&x[from..][..out.len()]);
        put_parts(machine, &targets, updates, writes.one::<T>(), &copy, add);
        Ok(())
    }
}

struct Replaced<T> {
    along: Along,
    element: PhantomData<T>,
}

impl Compile for Scatter {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, ids, updates) = (single.input(0)?, single.input(1)?, single.input(2)?);
        let out = single.output(0)?;
        let Some(along) = Along::new(&x.1.shape, 0) else { return single.refuse("of a scalar") };
        let body: Box<dyn Body> =
            with_element!(x.1.dtype, T => Box::new(Replaced::<T> { along, element: PhantomData }));
        Ok((single.signature([x, ids, updates], [out]), body))
    }
}

impl<T: Element> Body for Replaced<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let of = self.along.sizes(operands.sizes());
        let (reads, writes) = operands.split();
        let (x, ids, updates) = (reads.get::<T>(0), reads.get::<i64>(1), reads.get::<T>(2));
        if let Some(at) = first_outside(ids, of.along, None) {
            return Err(index_out_of_range(ids[at], at, of.along));
        }
        let part = |_: usize, update: usize| ids[update] as usize;
        let targets = Targets { parts: of.along, width: of.behind, updates: ids.len(), part: &part };
        let copy = |from: usize, out: &mut [T]| out.copy_from_slice(&x[from..][..out.len()]);
        put_parts(machine, &targets, updates, writes.one::<T>(), &copy, |part, update| {
            part.copy_from_slice(update);
        });
        Ok(())
    }
}
