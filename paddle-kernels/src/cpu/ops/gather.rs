//! `gather`, `gather_nd`: elements and slices by their indices.

use std::marker::PhantomData;

use paddle_core::ops::{Gather, GatherNd};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::along_axis::{Along, product};
use crate::cpu::id_checks::first_outside;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element};
use crate::cpu::number::Element;
use crate::cpu::operands::{Operands, Slot};
use crate::cpu::pieces::pieces;
use crate::messages::index_out_of_range;

/// Elements that one thread moves at a time.
const PIECE: usize = 1 << 14;

/// The indices of the slices that are taken along an axis.
pub(super) struct Numbers {
    along: Along,
    index: Vec<Extent>,
    /// Whether each row has indices of its own.
    own: bool,
}

/// The indices in a launch. A block has some parts, which are slices of the dimensions behind the axis.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    /// The number of parts in a block.
    pub(super) parts: usize,
    /// The number of elements in a part.
    pub(super) width: usize,
    /// The number of parts that are taken from each block.
    pub(super) taken: usize,
    index: &'a [i64],
    /// The number of blocks that share their indices.
    same: usize,
}

impl Numbers {
    pub(super) fn new(x: &Slot, index: &Slot, out: &Slot, axis: i64) -> Option<Numbers> {
        let (x, index, out) = (&x.1.shape, &index.1.shape, &out.1.shape);
        // If both have rows, these are one axis of the result.
        let own = x.len() + index.len() > out.len() + 1;
        Some(Numbers { along: Along::new(x, axis)?, index: index.clone(), own })
    }

    /// Checks that every index is that of a part.
    pub(super) fn checked<'a>(&self, sizes: &[usize], index: &'a [i64]) -> Result<Parts<'a>, KernelError> {
        let of = self.along.sizes(sizes);
        if let Some(at) = first_outside(index, of.along, None) {
            return Err(index_out_of_range(index[at], at, of.along));
        }
        let (taken, same) = match (self.own, self.index.split_first()) {
            (true, Some((rows, own))) => (product(own, sizes), of.before / rows.get(sizes).max(1)),
            _ => (index.len(), usize::MAX),
        };
        Ok(Parts { parts: of.along, width: of.behind, taken, index, same: same.max(1) })
    }
}

impl Parts<'_> {
    /// The index of the part that block `block` has at place `place`.
    #[inline]
    pub(super) fn number(&self, block: usize, place: usize) -> usize {
        self.index[block / self.same * self.taken + place] as usize
    }
}

struct Take<T> {
    numbers: Numbers,
    element: PhantomData<T>,
}

impl Compile for Gather {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, index, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let Some(numbers) = Numbers::new(&x, &index, &out, self.axis) else {
            return single.refuse("along no axis");
        };
        let body: Box<dyn Body> =
            with_element!(x.1.dtype, T => Box::new(Take::<T> { numbers, element: PhantomData }));
        Ok((single.signature([x, index], [out]), body))
    }
}

impl<T: Element> Body for Take<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = operands.sizes();
        let (reads, writes) = operands.split();
        let (x, out) = (reads.get::<T>(0), writes.one::<T>());
        let parts = self.numbers.checked(sizes, reads.get::<i64>(1))?;
        copy_parts(machine, parts.width, out, &|at| {
            let (block, place) = (at / parts.taken, at % parts.taken);
            let from = (block * parts.parts + parts.number(block, place)) * parts.width;
            &x[from..from + parts.width]
        });
        Ok(())
    }
}

/// Writes parts of `width` elements, each from its slice.
fn copy_parts<'a, T: Element>(
    machine: &Machine,
    width: usize,
    out: &mut [T],
    part: &(dyn Fn(usize) -> &'a [T] + Sync),
) {
    let width = width.max(1);
    let count = (PIECE / width).max(1);
    pieces(&machine.team, out, count * width, &|index, out| {
        for (at, out) in (index * count..).zip(out.chunks_exact_mut(width)) {
            out.copy_from_slice(part(at));
        }
    });
}

/// A list of positions along the first axes of a value.
pub(super) struct Positions {
    /// The extents of these axes.
    axes: Vec<Extent>,
    /// The extents of the other axes.
    inner: Vec<Extent>,
}

impl Positions {
    /// The positions in a value of this shape. The last axis of `index` holds the coordinates.
    pub(super) fn new(shape: &[Extent], index: &Slot) -> Option<Positions> {
        let &Extent::Fixed(length) = index.1.shape.last()? else { return None };
        let (axes, inner) = shape.split_at_checked(length)?;
        Some(Positions { axes: axes.into(), inner: inner.into() })
    }

    /// The number of parts, and the number of elements in each.
    pub(super) fn parts(&self, sizes: &[usize]) -> (usize, usize) {
        (product(&self.axes, sizes), product(&self.inner, sizes))
    }

    /// Checks that every coordinate is inside of its axis.
    pub(super) fn check(&self, sizes: &[usize], index: &[i64]) -> Result<(), KernelError> {
        let extents = self.axes.iter().map(|extent| extent.get(sizes)).cycle();
        for (at, (&number, size)) in index.iter().zip(extents).enumerate() {
            if usize::try_from(number).map_or(true, |number| number >= size) {
                return Err(index_out_of_range(number, at, size));
            }
        }
        Ok(())
    }

    /// The index of the part at the `at`-th position.
    #[inline]
    pub(super) fn part(&self, sizes: &[usize], index: &[i64], at: usize) -> usize {
        let position = index[at * self.axes.len()..].iter().zip(&self.axes);
        position.fold(0, |part, (&number, extent)| part * extent.get(sizes) + number as usize)
    }
}

struct TakeAt<T> {
    positions: Positions,
    element: PhantomData<T>,
}

impl Compile for GatherNd {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (x, index, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let Some(positions) = Positions::new(&x.1.shape, &index) else {
            return single.refuse("of positions of an unknown length");
        };
        let body: Box<dyn Body> =
            with_element!(x.1.dtype, T => Box::new(TakeAt::<T> { positions, element: PhantomData }));
        Ok((single.signature([x, index], [out]), body))
    }
}

impl<T: Element> Body for TakeAt<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = operands.sizes();
        let (reads, writes) = operands.split();
        let (x, index, out) = (reads.get::<T>(0), reads.get::<i64>(1), writes.one::<T>());
        self.positions.check(sizes, index)?;
        let (_, width) = self.positions.parts(sizes);
        copy_parts(machine, width, out, &|at| &x[self.positions.part(sizes, index, at) * width..][..width]);
        Ok(())
    }
}
