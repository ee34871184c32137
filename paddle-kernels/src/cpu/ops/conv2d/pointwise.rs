//! Convolutions by filters of one element, of images with the channels as the fastest axis: products of elements and filters,
//! which are read and written where they are.
#![allow(unsafe_code, reason = "computes with vectors")]

use super::filters::Filters;
use super::product::Product;
use crate::cpu::epilogue::{Finish, InRegisters};
use crate::cpu::images::Images;
use crate::cpu::isa::Isa;
use crate::cpu::number::Float;
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
            let products = Product {
                from,
                depth: filters.inner,
                packed: packed[self.group * filters.group() + filters.block(block)..].as_ptr(),
                to: to.wrapping_add(outer),
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
