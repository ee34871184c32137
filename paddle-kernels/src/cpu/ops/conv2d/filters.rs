//! Filters in the order in which kernels read them.
#![allow(unsafe_code, reason = "transposes blocks through raw pointers")]

use super::strips::channels_of_block;
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::number::Float;
use crate::cpu::pieces::pieces;
use crate::cpu::shared::Shared;
use crate::cpu::transpose::{LANES, transpose};
use crate::team::Team;

/// The filters of a group as a matrix from inner channels, which are summed over, to outer ones, which results have.
///
/// Packed filters are in blocks of outer channels, as wide as a kernel computes at once. In a block there are blocks of
/// inner channels; for each of these all elements of the filter; for each element the inner channels; and for each the
/// outer channels, which are neighbours.
#[derive(Clone, Copy)]
pub(super) struct Filters {
    pub(super) groups: usize,
    pub(super) inner: usize,
    pub(super) outer: usize,
    /// Height and width of a filter.
    pub(super) size: [usize; 2],
    /// The lanes of a register.
    pub(super) lanes: usize,
}

/// The most registers of a block.
pub(super) const REGISTERS: usize = 2;

impl Filters {
    /// The elements of a filter.
    pub(super) fn elements(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// The outer channels of a block, rounded up to whole registers.
    pub(super) fn width(&self, block: usize) -> usize {
        let rest = self.outer - block * self.widest();
        rest.next_multiple_of(self.lanes).min(self.widest())
    }

    /// The outer channels of all blocks but the last.
    pub(super) fn widest(&self) -> usize {
        REGISTERS * self.lanes
    }

    pub(super) fn blocks(&self) -> usize {
        self.outer.div_ceil(self.widest())
    }

    /// The outer channels of all blocks, the last rounded up to whole registers.
    pub(super) fn width_of_all(&self) -> usize {
        self.outer.next_multiple_of(self.lanes)
    }

    /// The number of elements of a group.
    pub(super) fn group(&self) -> usize {
        self.width_of_all() * self.inner * self.elements()
    }

    /// The distance of copies of elements with all inner channels, that they are not in the same lines of the first-level cache.
    pub(super) fn apart(&self) -> usize {
        self.inner + self.lanes
    }

    /// Whether they are too many for the caches of a core, so that they come from a far one for each strip.
    pub(super) fn are_far<T>(&self) -> bool {
        /// The most bytes that are near.
        const NEAR: usize = 1 << 20;
        self.group().saturating_mul(size_of::<T>()) > NEAR
    }

    /// The distance of the block behind this one, of those from `first` to `end`, which are read again and again.
    pub(super) fn next(&self, block: usize, [first, end]: [usize; 2]) -> isize {
        let next = if block + 1 < end { block + 1 } else { first };
        self.block(next) as isize - self.block(block) as isize
    }

    /// Where a block of outer channels begins in its group.
    pub(super) fn block(&self, block: usize) -> usize {
        block * self.widest() * self.inner * self.elements()
    }

    /// The inner channels of a block.
    pub(super) fn channels(&self, inner: usize) -> usize {
        let of_block = channels_of_block(self.inner);
        (self.inner - inner * of_block).min(of_block)
    }

    /// Where in a block of outer channels, `width` wide, an element of the filter begins for a block of inner channels.
    pub(super) fn element(&self, width: usize, inner: usize, element: usize) -> usize {
        (inner * channels_of_block(self.inner) * self.elements() + element * self.channels(inner)) * width
    }

    /// Packs filters. `distances` are those of neighbouring groups, outer and inner channels in `filters`.
    pub(super) fn pack<T: Float>(&self, team: &Team, filters: &[T], distances: [usize; 3], packed: &mut [T]) {
        let [group, outer, inner] = distances;
        // Each piece is what one inner channel meets in one group.
        let of_block = channels_of_block(self.inner);
        let blocks = self.inner.div_ceil(of_block) * self.blocks();
        let packed = Shared(packed.as_mut_ptr());
        team.run(self.groups * blocks, &|index| {
            let (at, index) = (index / blocks, index % blocks);
            let (block, channels) = (index % self.blocks(), index / self.blocks());
            let (width, first) = (self.width(block), block * self.widest());
            let count = (self.outer - first).min(width);
            let step = self.channels(channels) * width;
            for channel in 0..self.channels(channels) {
                let from = &filters[at * group + first * outer + (channels * of_block + channel) * inner..];
                let to = at * self.group() + self.block(block) + self.element(width, channels, 0);
                // SAFETY: reads the elements of `count` filters, and writes those of one inner channel in one block,
                // which no other piece has.
                unsafe {
                    let to = packed.at(to + channel * width);
                    transpose(from.as_ptr(), outer, to, step, self.elements(), count);
                    for element in 0..self.elements() {
                        to.add(element * step + count).write_bytes(0, width - count);
                    }
                }
            }
        });
    }

    /// Adds up partial gradients of filters in their order, and brings the sum back to the order of the filters. A partial
    /// gradient has for each group and element of a filter the inner channels, and for each of these the outer ones.
    pub(super) fn unpack<T: Float>(&self, isa: Isa, team: &Team, parts: &mut [T], filters: &mut [T]) {
        add_parts(isa, team, parts, self.groups * self.group());
        let sum = &parts[..self.groups * self.group()];
        let (width, to) = (self.width_of_all(), Shared(filters.as_mut_ptr()));
        let (stride, step) = (self.inner * width, self.inner * self.elements());
        // Some outer channels of some inner ones: what is read and written fills cache lines, and stays in the cache.
        let blocks = self.inner.div_ceil(LANES);
        team.run(self.groups * blocks, &|index| {
            let (group, first) = (index / blocks, index % blocks * LANES);
            let channels = first..self.inner.min(first + LANES);
            for outer in (0..self.outer).step_by(LANES) {
                let count = LANES.min(self.outer - outer);
                for channel in channels.clone() {
                    let from = &sum[group * self.group() + channel * width + outer..];
                    let to = to.at(((group * self.outer + outer) * self.inner + channel) * self.elements());
                    // SAFETY: reads elements of one inner channel, and writes them where no other thread does.
                    unsafe { transpose(from.as_ptr(), stride, to, step, count, self.elements()) };
                }
            }
        });
    }
}

/// The elements that a thread adds up at once.
const PIECE: usize = 4096;

/// Adds up partial gradients of so many elements in their order. The first becomes the sum.
pub(super) fn add_parts<T: Float>(isa: Isa, team: &Team, parts: &mut [T], elements: usize) {
    let (sum, others) = parts.split_at_mut(elements);
    pieces(team, sum, PIECE, &|piece, sum| {
        for other in others.chunks_exact(elements) {
            add(isa, &other[piece * PIECE..][..sum.len()], sum);
        }
    });
}

dispatch! {
    fn add<const FUSED: bool, T: Float>(isa, from: &[T], to: &mut [T]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to += *from;
        }
    }
}
