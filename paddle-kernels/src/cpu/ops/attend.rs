//! `attend` and its gradient. Threads share the heads, and places that ask where there are few heads. How a head is cut depends on
//! the shapes and on its mask, and on nothing else of the batch.
#![allow(unsafe_code, reason = "threads write different heads of the same places")]

use std::marker::PhantomData;
use std::ops::Range;

use paddle_core::ops;
use paddle_core::plan::{Extent, KernelError, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use super::attention::{Head, Part, PartMut, ROWS, Tiles};
use super::sequence_product::blocks::chunks;
use crate::cpu::along_axis::product;
use crate::cpu::isa::Isa;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::matmul::WORTH_A_TEAM;
use crate::cpu::number::Float;
use crate::cpu::operands::{Operands, Reads, Signature, Slot};
use crate::cpu::shared::Shared;
use mask::{Mask, Masked, Mold};

mod mask;

/// So many heads keep a team busy by themselves; of fewer, the places that ask are shared, this many at a time.
const MANY_HEADS: usize = 16;
const PLACES: usize = 2 * ROWS;

/// Where the matrices of an operand are.
struct Layout {
    /// The axes in front of the places.
    lead: Vec<Extent>,
    /// The axis of heads, if it is behind the places.
    heads: Option<Extent>,
    places: Extent,
    width: Extent,
}

/// The same, as numbers.
#[derive(Clone, Copy)]
struct Matrices {
    count: usize,
    heads: usize,
    places: usize,
    width: usize,
}

impl Layout {
    fn new(slot: &Slot, heads_last: bool) -> Option<Self> {
        match (&slot.1.shape[..], heads_last) {
            ([lead @ .., places, heads, width], true) => {
                Some(Layout { lead: lead.into(), heads: Some(*heads), places: *places, width: *width })
            }
            ([lead @ .., places, width], false) => {
                Some(Layout { lead: lead.into(), heads: None, places: *places, width: *width })
            }
            _ => None,
        }
    }

    /// The axes that count matrices, heads last.
    fn counted(&self) -> impl Iterator<Item = Extent> {
        self.lead.iter().copied().chain(self.heads)
    }

    fn get(&self, sizes: &[usize]) -> Matrices {
        let heads = self.heads.map_or(1, |heads| heads.get(sizes));
        let count = product(&self.lead, sizes) * heads;
        Matrices { count, heads, places: self.places.get(sizes), width: self.width.get(sizes) }
    }
}

impl Matrices {
    /// The first element of a matrix, and the distance of its rows.
    fn at(self, matrix: usize) -> [usize; 2] {
        let step = self.heads * self.width;
        [matrix / self.heads * self.places * step + matrix % self.heads * self.width, step]
    }

    fn part<T>(self, elements: &[T], matrix: usize) -> Part<'_, T> {
        let [start, step] = self.at(matrix);
        Part::new(elements, start, step, self.width)
    }

    /// # Safety
    /// As for [`PartMut::new`].
    unsafe fn part_mut<T: Copy>(self, elements: &Shared<T>, matrix: usize) -> PartMut<'_, T> {
        let [start, step] = self.at(matrix);
        // SAFETY: the caller's.
        unsafe { PartMut::new(elements, start, step, self.width) }
    }
}

struct Attend<T> {
    /// Of `Q`, `K`, `V` and `Out`.
    layouts: [Layout; 4],
    mask: Option<Mold>,
    op: ops::Attend,
    element: PhantomData<T>,
}

struct AttendGrad<T>(Attend<T>);

/// The sizes of a launch.
struct Sizes {
    q: Matrices,
    k: Matrices,
    v: Matrices,
    out: Matrices,
}

impl Sizes {
    /// One number for each place that asks, which are one behind the other in each matrix.
    fn sums(&self) -> Matrices {
        Matrices { count: self.q.count, heads: 1, places: self.q.places, width: 1 }
    }

    /// One head.
    fn head<'a, T>(&self, isa: Isa, [q, k, v]: [&'a [T]; 3], matrix: usize) -> Head<'a, T> {
        Head { isa, q: self.q.part(q, matrix), k: self.k.part(k, matrix), v: self.v.part(v, matrix) }
    }

    /// The bands of places of a head, the places in each, and the heads that a thread takes together.
    fn cut(&self) -> (usize, usize, usize) {
        let Matrices { count, places, .. } = self.q;
        let at_once = if count < MANY_HEADS { PLACES } else { places.max(1) };
        let of_one = self.work() / count.max(1);
        let heads = (WORTH_A_TEAM / of_one.max(1)).min(count / MANY_HEADS).max(1);
        (places.div_ceil(at_once), at_once, heads)
    }

    /// The number of multiply-adds of a product of pairs with keys and one with values.
    fn work(&self) -> usize {
        let pairs = self.q.count.saturating_mul(self.q.places).saturating_mul(self.k.places);
        pairs.saturating_mul(self.k.width + self.v.width)
    }
}

impl Compile for ops::Attend {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let inputs = single.inputs()?;
        let (dtype, out) = (inputs[0].1.dtype, single.output(0)?);
        let body: Box<dyn Body> = with_float!(
            single, dtype, T => Box::new(Attend::<T>::new(single, *self, &inputs, &out, inputs.get(3))?)
        );
        Ok((Signature { reads: inputs, writes: single.outputs()?, in_place: false }, body))
    }
}

impl Compile for ops::AttendGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let inputs = single.inputs()?;
        let (dtype, out) = (inputs[0].1.dtype, &inputs[3]);
        let body: Box<dyn Body> = with_float!(single, dtype, T => {
            Box::new(AttendGrad(Attend::<T>::new(single, self.of(), &inputs, out, inputs.get(6))?))
        });
        Ok((Signature { reads: inputs, writes: single.outputs()?, in_place: false }, body))
    }
}

impl<T: Float> Attend<T> {
    fn new(
        single: &Single<'_>,
        op: ops::Attend,
        inputs: &[Slot],
        out: &Slot,
        mask: Option<&Slot>,
    ) -> Result<Self, Unsupported> {
        let [q, k, v, ..] = inputs else { return single.refuse("of too few operands") };
        let layout = |slot: &Slot, k: usize| match Layout::new(slot, op.heads_last[k]) {
            Some(layout) => Ok(layout),
            None => single.refuse("of operands that are no matrices"),
        };
        let layouts = [layout(q, 0)?, layout(k, 1)?, layout(v, 2)?, layout(out, 3)?];
        let counted: Vec<Extent> = layouts[0].counted().collect();
        let pair = [layouts[0].places, layouts[1].places];
        let mask = match mask.map(|slot| (slot, Mold::new(slot, counted, pair))) {
            Some((slot, None)) => return single.refuse(&format!("of a mask of shape {:?}", slot.1.shape)),
            Some((_, mold)) => mold,
            None => None,
        };
        Ok(Attend { layouts, mask, op, element: PhantomData })
    }

    fn sizes(&self, sizes: &[usize]) -> Sizes {
        let [q, k, v, out] = self.layouts.each_ref().map(|layout| layout.get(sizes));
        Sizes { q, k, v, out }
    }

    /// The masks of all heads.
    fn masked<'a>(&'a self, reads: &Reads<'a>, at: usize, sizes: &'a [usize]) -> Masked<'a, T> {
        let Attend { mask, op, .. } = self;
        match mask {
            None => Masked::none(op),
            Some(mold) if mold.dtype == DType::Bool => {
                Masked::of_truths(op, mold, sizes, reads.get::<u8>(at))
            }
            Some(mold) => Masked::of_numbers(op, mold, sizes, reads.get::<T>(at)),
        }
    }
}

impl<T: Float> Body for Attend<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = self.sizes(operands.sizes());
        let (reads, writes) = operands.split();
        let [q, k, v] = [0, 1, 2].map(|input| reads.get::<T>(input));
        let masked = self.masked(&reads, 3, operands.sizes());
        let (out, sums) = writes.two::<T, T>();
        let (out, sums) = (Shared(out.as_mut_ptr()), Shared(sums.as_mut_ptr()));
        let (bands, at_once, heads) = sizes.cut();
        machine.team.run_if(sizes.work() >= WORTH_A_TEAM, sizes.q.count.div_ceil(heads) * bands, &|unit| {
            let (first, band) = (unit / bands * heads, unit % bands);
            let rows = band * at_once..sizes.q.places.min((band + 1) * at_once);
            let mut tiles = Tiles::new();
            for matrix in first..sizes.q.count.min(first + heads) {
                let head = sizes.head(machine.isa, [q, k, v], matrix);
                // SAFETY: each place of a head is computed by one thread, and both results have a place for each.
                unsafe {
                    let (out, sums) =
                        (sizes.out.part_mut(&out, matrix), sizes.sums().part_mut(&sums, matrix));
                    let mask = masked.of(&head, matrix);
                    attend(&head, &mask, [&rows, &(0..sizes.k.places)], [out, sums], &mut tiles);
                }
            }
        });
        Ok(())
    }
}

/// Computes the means of some places of a head, which ask for all that are asked, and the logarithms of the sums of exponentials.
///
/// # Safety
/// Both results have a place for each, which nothing else touches.
unsafe fn attend<T: Float>(
    head: &Head<'_, T>,
    mask: &Mask<'_, T>,
    [places, all]: [&Range<usize>; 2],
    [out, log_sums]: [PartMut<'_, T>; 2],
    Tiles { weights: tile, near, .. }: &mut Tiles<T>,
) {
    // SAFETY: nothing else writes there.
    let asked = unsafe { head.asked(all.len(), false, near) };
    for rows in chunks(places, mask.rows_at_once()) {
        // SAFETY: the caller's.
        unsafe {
            if all.is_empty() {
                for row in rows {
                    out.row(row).fill(T::ZERO);
                    log_sums.row(row)[0] = T::of(f64::NEG_INFINITY);
                }
                continue;
            }
            let seen = mask.seen(head, &rows, all.len());
            let mut sums = head.attend(&asked, mask, [&rows, &seen], tile, out);
            if seen != *all && !mask.vanishes(head, [&rows, all], &sums.tops[..rows.len()]) {
                sums = head.attend(&asked, mask, [&rows, all], tile, out);
            }
            head.finish(&rows, &mut sums, out, log_sums);
        }
    }
}

impl<T: Float> Body for AttendGrad<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let AttendGrad(of) = self;
        let sizes = of.sizes(operands.sizes());
        let (reads, writes) = operands.split();
        let [q, k, v, out, log_sums, grad] = [0, 1, 2, 3, 4, 5].map(|input| reads.get::<T>(input));
        let masked = of.masked(&reads, 6, operands.sizes());
        let [of_q, of_k, of_v, of_mask] = writes.at_most::<T, 4>();
        let pairs = sizes.q.places * sizes.k.places;
        let of_mask = (!of_mask.is_empty()).then_some(Shared(of_mask.as_mut_ptr()));
        let [of_q, of_k, of_v] = [of_q, of_k, of_v].map(|of| Shared(of.as_mut_ptr()));
        let (.., heads) = sizes.cut();
        machine.team.run_if(sizes.work() >= WORTH_A_TEAM, sizes.q.count.div_ceil(heads), &|unit| {
            let mut tiles = Tiles::new();
            for matrix in unit * heads..sizes.q.count.min((unit + 1) * heads) {
                let head = sizes.head(machine.isa, [q, k, v], matrix);
                let mut mask = masked.of(&head, matrix);
                let reads = [
                    sizes.out.part(out, matrix),
                    sizes.out.part(grad, matrix),
                    sizes.sums().part(log_sums, matrix),
                ];
                // SAFETY: each head is computed by one thread, and the results have a place for each place of it.
                unsafe {
                    let row = sizes.k.places;
                    mask.gradient =
                        of_mask.as_ref().map(|of_mask| PartMut::new(of_mask, matrix * pairs, row, row));
                    let grads = [
                        sizes.q.part_mut(&of_q, matrix),
                        sizes.k.part_mut(&of_k, matrix),
                        sizes.v.part_mut(&of_v, matrix),
                    ];
                    let places = [&(0..sizes.q.places), &(0..sizes.k.places)];
                    differentiate(&head, &mask, places, reads, grads, &mut tiles);
                }
            }
        });
        Ok(())
    }
}

/// Computes the gradients of a head, in which some places ask for all that are asked. `reads` are the means, their gradients, and
/// the logarithms of the sums of exponentials.
///
/// # Safety
/// The results have a place for each, which nothing else touches.
unsafe fn differentiate<T: Float>(
    head: &Head<'_, T>,
    mask: &Mask<'_, T>,
    [asking, all]: [&Range<usize>; 2],
    reads: [Part<'_, T>; 3],
    grads: [PartMut<'_, T>; 3],
    Tiles { weights, grads: of_weights, near }: &mut Tiles<T>,
) {
    let [of_q, of_k, of_v] = grads;
    // SAFETY: the caller's; nothing else writes what is near.
    unsafe {
        let asked = head.asked(all.len(), true, near);
        for place in all.clone() {
            of_k.row(place).fill(T::ZERO);
            of_v.row(place).fill(T::ZERO);
        }
        for rows in chunks(asking, mask.rows_at_once()) {
            if all.is_empty() {
                rows.for_each(|row| of_q.row(row).fill(T::ZERO));
                continue;
            }
            let mut seen = mask.seen_backward(head, &rows, all.len(), reads[1]);
            if seen != *all {
                let mut sums = [T::ZERO; ROWS];
                rows.clone().zip(&mut sums).for_each(|(row, sum)| *sum = reads[2].row(row)[0]);
                if !mask.vanishes(head, [&rows, all], &sums[..rows.len()]) {
                    seen = all.clone();
                }
            }
            head.differentiate(&asked, mask, [&rows, &seen], [&mut *weights, &mut *of_weights], reads, grads);
        }
    }
}
