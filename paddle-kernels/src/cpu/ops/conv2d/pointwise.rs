//! Convolutions by filters of one element, of images with the channels as the fastest axis: products of elements and filters,
//! which are read and written where they are.
#![allow(unsafe_code, reason = "computes with vectors")]

use paddle_core::memory::OutOfMemory;

use super::Sizes;
use super::filters::{Filters, add_parts};
use super::gradient::parts;
use super::product::Product;
use crate::cpu::epilogue::{Finish, InRegisters};
use crate::cpu::images::Images;
use crate::cpu::isa::Isa;
use crate::cpu::kernel::Machine;
use crate::cpu::matmul::Matmul;
use crate::cpu::number::Float;
use crate::cpu::scratch::Scratch;
use crate::cpu::vector::{Vector, Work, on_registers};
use crate::team::Team;

/// The most elements of a piece. Their channels stay in the second-level cache for all blocks of filters.
const COLUMNS: usize = 112;
/// A piece is at least about so many multiply-adds: some microseconds of work.
const WORK: usize = 1 << 18;

/// Products of the elements of images with filters.
pub(super) struct Pointwise<'a, T> {
    pub(super) filters: Filters,
    pub(super) packed: &'a [T],
    pub(super) source: &'a [T],
    pub(super) images: Images,
    pub(super) results: Images,
    /// The distances along both axes of the elements that neighbouring results are products of.
    pub(super) strides: [usize; 2],
    pub(super) out: *mut T,
    pub(super) ending: InRegisters<T>,
}

// SAFETY: threads write results that do not overlap.
unsafe impl<T: Sync> Sync for Pointwise<'_, T> {}

/// Neighbouring results of one line, for some blocks of filters of one group.
struct Piece<'a, T> {
    of: &'a Pointwise<'a, T>,
    group: usize,
    /// The first element that is read, and the first result.
    first: [usize; 2],
    count: usize,
    blocks: [usize; 2],
}

impl<T: Float> Work<T> for Piece<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let Pointwise { filters, packed, source, images, results, strides, out, ending } = self.of;
        let [from, first] = self.first;
        let from = source[from * images.channels + self.group * filters.inner..].as_ptr();
        let channel = self.group * filters.outer;
        let first = first * results.channels + channel;
        let to = out.wrapping_add(first);
        for block in self.blocks[0]..self.blocks[1] {
            let outer = block * filters.widest();
            let ahead = filters.ahead::<T>(block, self.blocks);
            let products = Product {
                from,
                depth: filters.inner,
                packed: packed[self.group * filters.group() + filters.block(block)..].as_ptr(),
                ahead,
                to: to.wrapping_add(outer),
                far: true,
                distances: [strides[1] * images.channels, results.channels],
                filters: (filters.outer - outer).min(filters.widest()),
                ending: *ending,
                begin: [channel + outer, first + outer],
            };
            // SAFETY: the elements and the results of a piece are inside of the images; nobody else writes these results.
            unsafe { products.compute::<V>(self.count, filters.width(block)) };
        }
    }
}

impl<T: Float> Pointwise<'_, T> {
    /// Computes all results, and the epilogue if the channels of a result are computed together: returns whether they are.
    pub(super) fn run(&self, isa: Isa, team: &Team, finish: Finish<'_>) -> bool {
        let Pointwise { filters, images, results, strides, .. } = self;
        // Where each element has a result, all images are one line.
        let (lines, columns) = match *strides == [1; 2] {
            true => (1, results.count * results.plane()),
            false => (results.count * results.size[0], results.size[1]),
        };
        let per_column = (filters.inner * filters.width_of_all()).max(1);
        // Some pieces for each thread, unless they were too small.
        let (threads, others) = (team.threads(), (lines * filters.groups).max(1));
        let pieces = if threads == 1 { 1 } else { (4 * threads).div_ceil(others) };
        let fewest = WORK.div_ceil(per_column).min(COLUMNS);
        let cuts = columns.div_ceil(columns.div_ceil(pieces).clamp(fewest, COLUMNS));
        // Few elements with many channels are shared out by blocks of filters.
        let of_each = (columns * per_column).div_ceil(cuts.max(1));
        let shares = pieces.div_ceil(cuts.max(1)).min(of_each / WORK).clamp(1, filters.blocks().max(1));
        let is_whole = filters.groups * shares == 1;
        team.run(filters.groups * lines * cuts * shares, &|index| {
            let (index, share) = (index / shares, index % shares);
            let (index, cut) = (index / cuts, index % cuts);
            let (group, line) = (index / lines, index % lines);
            let (image, y) = (line / results.size[0], line % results.size[0]);
            let column = cut * columns / cuts;
            let of_line = match lines {
                1 => 0,
                _ => (image * images.size[0] + y * strides[0]) * images.size[1],
            };
            let (first, count) = (line * columns + column, (cut + 1) * columns / cuts - column);
            on_registers(
                isa,
                Piece {
                    of: self,
                    group,
                    first: [of_line + column * strides[1], first],
                    count,
                    blocks: [share, share + 1].map(|share| share * filters.blocks() / shares),
                },
            );
            if is_whole {
                // SAFETY: these results are the piece's own, and are final.
                unsafe {
                    finish.part(self.out, first * results.channels..(first + count) * results.channels)
                };
            }
        });
        is_whole
    }
}

impl Sizes {
    /// Whether filters have one element and images their channels as the fastest axis, without borders.
    pub(super) fn is_pointwise(&self) -> bool {
        self.filter.len() == 1 && self.padding == [0; 2] && self.last == [true; 2]
    }

    /// Computes the results if filters have one element; returns false if not.
    pub(super) fn forward_pointwise<T: Float>(
        &self,
        machine: &Machine,
        (scratch, version): (&Scratch<T>, Option<u64>),
        [source, filter]: [&[T]; 2],
        out: (&mut [T], Finish<'_>),
    ) -> Result<bool, OutOfMemory> {
        if !self.is_pointwise() {
            return Ok(false);
        }
        let distances = [self.filters * self.channels, self.channels, 1];
        let (filters, images) = ([self.channels, self.filters], [self.images(), self.results()]);
        self.pointwise(machine, (scratch, version), (filters, distances), images, [source, filter], out)
    }

    /// Computes the gradients of the images if filters have one element and meet all elements; returns false if not.
    pub(super) fn grad_input_pointwise<T: Float>(
        &self,
        machine: &Machine,
        (scratch, version): (&Scratch<T>, Option<u64>),
        [filter, grad]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool, OutOfMemory> {
        if !self.is_pointwise() || self.strides != [1; 2] {
            return Ok(false);
        }
        let distances = [self.filters * self.channels, 1, self.channels];
        let (filters, images) = ([self.filters, self.channels], [self.results(), self.images()]);
        let out = (out, Finish::default());
        self.pointwise(machine, (scratch, version), (filters, distances), images, [grad, filter], out)
    }

    /// Computes the gradients of the filters if they have one element and meet all elements; returns false if not.
    pub(super) fn grad_filter_pointwise<T: Float>(
        &self,
        machine: &Machine,
        scratch: &Scratch<T>,
        [input, grad]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool, OutOfMemory> {
        if !self.is_pointwise() || self.strides != [1; 2] || self.groups != 1 {
            return Ok(false);
        }
        let elements = self.images * self.input.len();
        let count = parts(elements, out.len());
        scratch.lend(count * out.len(), |parts| {
            let [m, n] = [self.filters, self.channels];
            let products = Matmul { m, n, k: elements / count, trans_a: true, trans_b: false };
            let behind = products.k * count;
            let rest = Matmul { k: elements - behind, ..products };
            let (start, from) = (parts.as_mut_ptr(), [grad.as_ptr(), input.as_ptr()]);
            let starts = |part: usize| [part * products.k * m, part * products.k * n];
            // SAFETY: the parts cut all elements of both; their products have room, and nobody else uses them.
            unsafe {
                products.run_many(machine, from, start, count, &starts);
                if rest.k > 0 {
                    let from = [grad[behind * m..].as_ptr(), input[behind * n..].as_ptr()];
                    rest.run(machine, from, start, true, &|_, _| {});
                }
            }
            add_parts(machine.isa, &machine.team, parts, out.len());
            out.copy_from_slice(&parts[..out.len()]);
        })?;
        Ok(true)
    }

    fn pointwise<T: Float>(
        &self,
        machine: &Machine,
        (scratch, version): (&Scratch<T>, Option<u64>),
        (channels, distances): ([usize; 2], [usize; 3]),
        [images, results]: [Images; 2],
        [source, filter]: [&[T]; 2],
        (out, finish): (&mut [T], Finish<'_>),
    ) -> Result<bool, OutOfMemory> {
        let filters = self.filters::<T>(machine.isa, channels);
        let pack = |packed: &mut [T]| filters.pack(&machine.team, filter, distances, packed);
        scratch.lend_made(filters.groups * filters.group(), version, pack, |packed| {
            let (strides, start, (ending, finish)) = (self.strides, out.as_mut_ptr(), finish.in_registers());
            let pointwise =
                Pointwise { filters, packed, source, images, results, strides, out: start, ending };
            if !pointwise.run(machine.isa, &machine.team, finish) {
                finish.all(&machine.team, out);
            }
        })?;
        Ok(true)
    }
}
