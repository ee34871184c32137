//! Strips of results, and the copies of the parts of images that they meet.
//!
//! A copy has the channels in blocks: the channels of a block are neighbours, and so are the elements that neighbouring
//! results meet. So a kernel finds all that it needs at constant distances from one address. Of a few channels, each is a
//! block of its own: in blocks of many, most places would be empty. Around the image a copy has zeros.
#![allow(unsafe_code, reason = "writes copies through raw pointers")]

use std::ops::Range;

use super::axis::Axis;
use super::side_by_side::Groups;
use crate::cpu::number::Float;
use crate::cpu::transpose::{LANES, interleave};

/// The number of channels in a block.
pub(super) const CHANNELS: usize = LANES;
/// So many channels are few.
const FEW: usize = 4;

/// The number of channels in a block of a copy of images with so many channels.
pub(super) fn channels_of_block(channels: usize) -> usize {
    if channels <= FEW { 1 } else { CHANNELS }
}

/// The most bytes of a copy.
pub(super) const COPY_BYTES: usize = 192 * 1024;
/// About so many bytes of a copy stay in the first-level cache.
const NEAR_BYTES: usize = 32 * 1024;
/// The most results of a strip.
pub(super) const RESULTS: usize = 256;
/// A strip has at least about so many rows: neighbouring strips copy the rows that both meet.
const ROWS: usize = 4;

/// The strips that results are cut into.
#[derive(Clone, Copy)]
pub(super) struct Strips {
    pub(super) axes: [Axis; 2],
    /// The number of channels in the source.
    pub(super) channels: usize,
    /// The number of channels in a block.
    pub(super) of_block: usize,
    /// The rows and columns of a strip.
    size: [usize; 2],
    /// The distances in a copy of neighbouring lines of a row, rows, and blocks of channels. Kernels ask for them between
    /// multiply-adds, and they take divisions.
    line: usize,
    row: usize,
    block: usize,
}

/// The rows and columns of results in a strip.
pub(super) type Strip = [Range<usize>; 2];

impl Strips {
    /// Cuts the results into strips whose copies, of elements `T`, are small enough; none if there are no such strips.
    /// If possible there are at least `pieces` of them; without a number, as few as possible.
    pub(super) fn new<T>(axes: [Axis; 2], channels: usize, pieces: Option<usize>) -> Option<Strips> {
        let [rows, columns] = axes.map(|axis| axis.count.max(1));
        let of_block = channels_of_block(channels);
        // As [`Self::elements`] says, for many sizes.
        let (lines, beyond) = (axes.map(|axis| axis.lines()), axes.map(|axis| axis.reach(0)));
        let of_channels = channels.next_multiple_of(of_block).saturating_mul(size_of::<T>());
        let bytes = |size: [usize; 2]| {
            let [down, across] = [0, 1].map(|at| lines[at] * (size[at] + beyond[at]));
            of_channels.saturating_mul(down).saturating_mul(across)
        };
        let across = (1..=columns).find_map(|cuts| {
            let columns = columns.div_ceil(cuts);
            (columns <= RESULTS && bytes([1, columns]) <= COPY_BYTES).then_some(columns)
        })?;
        let of_pieces = pieces.map_or(rows, |pieces| rows.div_ceil(pieces.max(1)).max(ROWS));
        let most = (RESULTS / across).min(rows).min(of_pieces);
        let fits = |most_bytes| (1..=most).rev().find(|&rows| bytes([rows, across]) <= most_bytes);
        let near = || fits(NEAR_BYTES).filter(|&rows| rows >= ROWS.min(most));
        let high = match pieces {
            Some(_) => near().or_else(|| fits(COPY_BYTES).map(|rows| rows.min(ROWS)))?,
            None => fits(COPY_BYTES)?,
        };
        // Strips of about the same height.
        let high = rows.div_ceil(rows.div_ceil(high));
        let line = axes[1].reach(across) * of_block;
        let row = axes[1].lines() * line;
        let block = axes[0].lines() * axes[0].reach(high) * row;
        Some(Strips { axes, channels, of_block, size: [high, across], line, row, block })
    }

    /// The same strips of images with another number of channels, which is no larger.
    pub(super) fn with_channels(self, channels: usize) -> Strips {
        Strips { channels, ..self }
    }

    /// The results of the largest strip.
    pub(super) fn results(&self) -> usize {
        self.size[0] * self.size[1]
    }

    pub(super) fn count(&self) -> usize {
        let [down, across] = self.cuts();
        down * across
    }

    fn cuts(&self) -> [usize; 2] {
        [0, 1].map(|at| self.axes[at].count.div_ceil(self.size[at]))
    }

    pub(super) fn strip(&self, index: usize) -> Strip {
        let [_, across] = self.cuts();
        let at = [index / across, index % across];
        [0, 1].map(|axis| {
            let first = at[axis] * self.size[axis];
            first..self.axes[axis].count.min(first + self.size[axis])
        })
    }

    /// The elements of the largest copy.
    pub(super) fn elements(&self) -> usize {
        let [down, across] = [0, 1].map(|at| self.axes[at].lines() * self.axes[at].reach(self.size[at]));
        let channels = self.channels.next_multiple_of(self.of_block);
        channels.saturating_mul(down).saturating_mul(across)
    }

    /// The bytes of the largest copy.
    pub(super) fn bytes<T>(&self) -> usize {
        self.elements() * size_of::<T>()
    }

    /// The distance of neighbouring rows of results in a copy.
    pub(super) fn row(&self) -> usize {
        self.row
    }

    /// The distance of neighbouring blocks of channels in a copy.
    pub(super) fn block(&self) -> usize {
        self.block
    }

    /// Where a copy has the element of the first channel that the first result meets with two taps.
    pub(super) fn met(&self, taps: [usize; 2]) -> usize {
        let [[line_y, y], [line_x, x]] = [0, 1].map(|at| self.axes[at].place(taps[at]));
        (line_y * self.axes[0].reach(self.size[0]) + y) * self.row + line_x * self.line + x * self.of_block
    }

    /// Copies the part of an image that the results of a strip meet. `distances` are those of neighbouring channels and of
    /// neighbouring elements of a channel in `source`, which begins with the first channel.
    ///
    /// # Safety
    /// `source` has these channels of an image. `start` is valid for writing [`Self::bytes`] bytes.
    #[inline(always)]
    pub(super) unsafe fn copy<T: Float>(
        &self,
        source: *const T,
        distances: [usize; 2],
        strip: &Strip,
        start: *mut T,
    ) {
        let ([channel, element], [down, across], of_block) = (distances, self.axes, self.of_block);
        let [rows, columns] = [0, 1].map(|at| self.axes[at].reach(strip[at].len()));
        let distances = [channel, element * across.step()];
        // Computed once: it takes divisions.
        let of_line = down.reach(self.size[0]);
        let Strips { block: block_distance, row: row_distance, line: line_distance, .. } = *self;
        for line_x in 0..across.lines() {
            let line = across.line(strip[1].start, line_x);
            let inside = line.inside(columns);
            let first_x = line.element(inside.start);
            for (block, first) in (0..self.channels).step_by(of_block).enumerate() {
                let channels = of_block.min(self.channels - first);
                for line_y in 0..down.lines() {
                    let line = down.line(strip[0].start, line_y);
                    let first_row = block * block_distance + line_y * of_line * row_distance;
                    for place in 0..rows {
                        // SAFETY: the line is inside of the copy, and its elements inside of the image.
                        unsafe {
                            let to = start.add(first_row + place * row_distance + line_x * line_distance);
                            let (Some(y), Some(x)) = (line.element(place), first_x) else {
                                clear(to, columns * of_block);
                                continue;
                            };
                            let from = source.add(first * channel + (y * across.source + x) * element);
                            clear(to, inside.start * of_block);
                            clear(to.add(inside.end * of_block), (columns - inside.end) * of_block);
                            let to = to.add(inside.start * of_block);
                            interleave(from, distances, to, of_block, channels, inside.len());
                        }
                    }
                }
            }
        }
    }
}

impl Strips {
    /// Copies the part of an image that the results of a strip meet, as [`Self::copy`] does, where a block has one channel of
    /// several groups. `source` begins with the first channel of the first of the groups. Lanes without a group keep what they
    /// have.
    ///
    /// # Safety
    /// `source` has these channels of an image. `start` is valid for writing [`Self::bytes`] bytes.
    #[inline(always)]
    pub(super) unsafe fn copy_groups<T: Float>(
        &self,
        source: *const T,
        groups: Groups,
        strip: &Strip,
        start: *mut T,
    ) {
        let [down, across] = self.axes;
        let [rows, columns] = [0, 1].map(|at| self.axes[at].reach(strip[at].len()));
        let of_line = down.reach(self.size[0]);
        let Strips { block: block_distance, row: row_distance, line: line_distance, .. } = *self;
        for line_x in 0..across.lines() {
            let line = across.line(strip[1].start, line_x);
            let inside = line.inside(columns);
            let first_x = line.element(inside.start);
            for line_y in 0..down.lines() {
                let line = down.line(strip[0].start, line_y);
                for place in 0..rows {
                    let row = (line_y * of_line + place) * row_distance + line_x * line_distance;
                    // SAFETY: the line is inside of the copy, and its elements inside of the image.
                    unsafe {
                        let to = start.add(row);
                        let (element, inside) = match (line.element(place), first_x) {
                            (Some(y), Some(x)) => (Some(y * across.source + x), inside.clone()),
                            _ => (None, columns..columns),
                        };
                        for channel in 0..groups.channels {
                            let to = to.add(channel * block_distance);
                            clear(to, inside.start * CHANNELS);
                            clear(to.add(inside.end * CHANNELS), (columns - inside.end) * CHANNELS);
                        }
                        if let Some(element) = element {
                            let from = source.add(element * groups.element);
                            let to = to.add(inside.start * CHANNELS);
                            groups.interleave(from, across.step(), to, block_distance, inside.len());
                        }
                    }
                }
            }
        }
    }
}

/// Writes zeros, without a call.
///
/// # Safety
/// `to` is valid for writing `count` elements.
#[inline(always)]
unsafe fn clear<T: Float>(to: *mut T, count: usize) {
    let mut done = 0;
    // SAFETY: the caller's.
    unsafe {
        while done + LANES <= count {
            to.add(done).cast::<[T; LANES]>().write([T::ZERO; LANES]);
            done += LANES;
        }
        while done < count {
            *to.add(done) = T::ZERO;
            done += 1;
        }
    }
}
