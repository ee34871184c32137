//! Convolutions by filters of one element, of images with the channels as the fastest axis: products of elements and filters,
//! which are read and written where they are.
#![allow(unsafe_code, reason = "computes with vectors")]

use std::ops::Range;

use paddle_core::memory::OutOfMemory;

use super::Sizes;
use super::correlate::most_columns;
use super::filters::{Filters, add_parts};
use super::gradient::parts;
use super::product::{Ahead, Product};
use crate::cpu::epilogue::{Finish, InRegisters};
use crate::cpu::images::Images;
use crate::cpu::isa::Isa;
use crate::cpu::kernel::Machine;
use crate::cpu::matmul::Matmul;
use crate::cpu::number::Float;
use crate::cpu::scratch::Scratch;
use crate::cpu::stack;
use crate::cpu::vector::{Registers, Vector, Work, on_registers};
use crate::team::Team;

/// The most elements of a piece. Their channels stay in the second-level cache for all blocks of filters.
const COLUMNS: usize = 112;
/// Elements so many bytes apart are in the same few lines of the first-level cache, which holds fewer than are multiplied at a time.
const ALIASED: usize = 4096;
/// The most bytes of a copy of a piece, in which its elements are apart by another distance.
const COPY_BYTES: usize = 480 * 1024;
/// Filters of more bytes are asked for. Even those that a near cache has room for come from memory, if a network reads others between one
/// batch and the next.
const MANY_BYTES: usize = 64 * 1024;
/// Copies of fewer elements are not worth their time.
const FEWEST_COPIED: usize = 14;
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
    /// Memory for copies of elements, and for how many; none if they are not copied.
    copies: (*mut T, usize),
}

impl<T: Float> Work<T> for Piece<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let Pointwise { filters, source, images, strides, .. } = self.of;
        let from = source[self.first[0] * images.channels + self.group * filters.inner..].as_ptr();
        let distance = strides[1] * images.channels;
        let (depth, apart) = (filters.inner, filters.apart());
        let (copy, room) = self.copies;
        // SAFETY: the elements of a piece are inside of the images, and there is memory for so many copies.
        unsafe {
            if room == 0 {
                return self.columns::<V>(from, distance, 0..self.count);
            }
            let mut done = 0;
            while done < self.count {
                let columns = done..self.count.min(done + room);
                for (at, column) in columns.clone().enumerate() {
                    copy.add(at * apart).copy_from_nonoverlapping(from.add(column * distance), depth);
                }
                done = columns.end;
                self.columns::<V>(copy, apart, columns);
            }
        }
    }
}

impl<T: Float> Piece<'_, T> {
    /// Computes the results of some columns of the piece, whose elements begin at `from`.
    ///
    /// # Safety
    /// The elements are there; the machine has the instruction set of `V`.
    #[inline(always)]
    unsafe fn columns<V: Vector<Element = T>>(&self, from: *const T, distance: usize, columns: Range<usize>) {
        let Pointwise { filters, packed, images, results, strides, out, ending, .. } = self.of;
        let channel = self.group * filters.outer;
        let first = (self.first[1] + columns.start) * results.channels + channel;
        let to = out.wrapping_add(first);
        // The next piece has the elements behind these.
        let is_line = images.channels == filters.inner && distance == filters.inner && *strides == [1; 2];
        let are_many = filters.group().saturating_mul(size_of::<T>()) > MANY_BYTES;
        for block in self.blocks[0]..self.blocks[1] {
            let outer = block * filters.widest();
            let ahead = match block == self.blocks[0] && is_line {
                true => Ahead::Elements(columns.len() * distance),
                false if are_many => Ahead::Filters(filters.next(block, self.blocks)),
                false => Ahead::Nothing,
            };
            let products = Product {
                from,
                depth: filters.inner,
                packed: packed[self.group * filters.group() + filters.block(block)..].as_ptr(),
                ahead,
                to: to.wrapping_add(outer),
                far: true,
                distances: [distance, results.channels],
                filters: (filters.outer - outer).min(filters.widest()),
                ending: *ending,
                begin: [channel + outer, first + outer],
            };
            // SAFETY: the elements and the results of a piece are inside of the images; nobody else writes these results.
            unsafe { products.compute::<V>(columns.len(), filters.width(block)) };
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
        // Nearly equal pieces, in which no more than the last neighbours are fewer.
        let at_once = most_columns(COLUMNS, filters.widest() / filters.lanes, Registers::of::<T>(isa).count);
        let of_piece = columns.div_ceil(cuts.max(1)).max(1).next_multiple_of(at_once);
        let cuts = columns.div_ceil(of_piece);
        // Few elements with many channels are shared out by blocks of filters.
        let of_each = (columns * per_column).div_ceil(cuts.max(1));
        let shares = pieces.div_ceil(cuts.max(1)).min(of_each / WORK).clamp(1, filters.blocks().max(1));
        let is_whole = filters.groups * shares == 1;
        // How many elements are copied at a time.
        let is_aliased = (strides[1] * images.channels * size_of::<T>()).is_multiple_of(ALIASED);
        let of_copy = filters.apart() * size_of::<T>();
        let room = if is_aliased { (COPY_BYTES / of_copy).min(of_piece) } else { 0 };
        let room = if room < FEWEST_COPIED { 0 } else { room };
        team.run(filters.groups * lines * cuts * shares, &|index| {
            let (index, share) = (index / shares, index % shares);
            let (index, cut) = (index / cuts, index % cuts);
            let (group, line) = (index / lines, index % lines);
            let (image, y) = (line / results.size[0], line % results.size[0]);
            let column = cut * of_piece;
            let of_line = match lines {
                1 => 0,
                _ => (image * images.size[0] + y * strides[0]) * images.size[1],
            };
            let (first, count) = (line * columns + column, of_piece.min(columns - column));
            let first = [of_line + column * strides[1], first];
            let blocks = [share, share + 1].map(|share| share * filters.blocks() / shares);
            stack::lend([room * of_copy], &mut |[memory]| {
                let copies = (memory, room);
                on_registers(isa, Piece { of: self, group, first, count, blocks, copies });
            });
            if is_whole {
                // SAFETY: these results are the piece's own, and are final.
                unsafe {
                    finish.part(self.out, first[1] * results.channels..(first[1] + count) * results.channels)
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
