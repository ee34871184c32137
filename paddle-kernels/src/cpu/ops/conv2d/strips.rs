//! Strips of results, and the copies of the parts of images that they meet.
//!
//! A copy has the channels in blocks: the channels of a block are neighbours, and so are the elements that neighbouring
//! results meet. So a kernel finds all that it needs at constant distances from one address. Around the image a copy has
//! zeros.
#![allow(unsafe_code, reason = "writes copies through raw pointers")]

use std::ops::Range;

use super::axis::Axis;
use crate::cpu::number::Float;
use crate::cpu::transpose::{LANES, interleave};

/// The number of channels in a block.
pub(super) const CHANNELS: usize = LANES;
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
    /// The rows and columns of a strip.
    size: [usize; 2],
}

/// The rows and columns of results in a strip.
pub(super) type Strip = [Range<usize>; 2];

impl Strips {
    /// Cuts the results into strips whose copies, of elements `T`, are small enough; none if there are no such strips.
    /// If possible there are at least `pieces` of them.
    pub(super) fn new<T>(axes: [Axis; 2], channels: usize, pieces: usize) -> Option<Strips> {
        let [rows, columns] = axes.map(|axis| axis.count.max(1));
        let bytes = |size: [usize; 2]| {
            let strips = Strips { axes, channels, size };
            strips.elements().saturating_mul(size_of::<T>())
        };
        let across = (1..=columns).find_map(|cuts| {
            let columns = columns.div_ceil(cuts);
            (columns <= RESULTS && bytes([1, columns]) <= COPY_BYTES).then_some(columns)
        })?;
        let most = (RESULTS / across).min(rows).min(rows.div_ceil(pieces.max(1)).max(ROWS));
        let fits = |most_bytes| (1..=most).rev().find(|&rows| bytes([rows, across]) <= most_bytes);
        let near = fits(NEAR_BYTES).filter(|&rows| rows >= ROWS.min(most));
        let high = near.or_else(|| fits(COPY_BYTES).map(|rows| rows.min(ROWS)))?;
        // Strips of about the same height.
        let high = rows.div_ceil(rows.div_ceil(high));
        Some(Strips { axes, channels, size: [high, across] })
    }

    /// The same strips of images with another number of channels, which is no larger.
    pub(super) fn with_channels(self, channels: usize) -> Strips {
        Strips { channels, ..self }
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
    fn elements(&self) -> usize {
        let [down, across] = [0, 1].map(|at| self.axes[at].lines() * self.axes[at].reach(self.size[at]));
        self.channels.div_ceil(CHANNELS).saturating_mul(down).saturating_mul(across).saturating_mul(CHANNELS)
    }

    /// The distance of neighbouring rows of results in a copy.
    pub(super) fn row(&self) -> usize {
        self.axes[1].lines() * self.line()
    }

    fn line(&self) -> usize {
        self.axes[1].reach(self.size[1]) * CHANNELS
    }

    /// The distance of neighbouring blocks of channels in a copy.
    pub(super) fn block(&self) -> usize {
        self.axes[0].lines() * self.axes[0].reach(self.size[0]) * self.row()
    }

    /// Where a copy has the element of the first channel that the first result meets with two taps.
    pub(super) fn met(&self, taps: [usize; 2]) -> usize {
        let [[line_y, y], [line_x, x]] = [0, 1].map(|at| self.axes[at].place(taps[at]));
        (line_y * self.axes[0].reach(self.size[0]) + y) * self.row() + line_x * self.line() + x * CHANNELS
    }

    /// Copies the part of an image that the results of a strip meet. `distances` are those of neighbouring channels and of
    /// neighbouring elements of a channel in `source`, which begins with the first channel.
    ///
    /// # Safety
    /// `source` has these channels of an image. `to` is valid for writing [`COPY_BYTES`] bytes.
    #[inline(always)]
    pub(super) unsafe fn copy<T: Float>(
        &self,
        source: *const T,
        distances: [usize; 2],
        strip: &Strip,
        to: *mut T,
    ) {
        let [channel, element] = distances;
        for (block, first) in (0..self.channels).step_by(CHANNELS).enumerate() {
            let channels = CHANNELS.min(self.channels - first);
            for line in 0..self.axes[0].lines() {
                let reach = self.axes[0].reach(strip[0].len());
                for place in 0..reach {
                    let at = line * self.axes[0].reach(self.size[0]) + place;
                    // SAFETY: the row is inside of the copy, and of the image.
                    unsafe {
                        let to = to.add(block * self.block() + at * self.row());
                        match self.axes[0].element(strip[0].start, line, place) {
                            Some(y) => {
                                let row = first * channel + y * self.axes[1].source * element;
                                self.copy_row(source.add(row), distances, channels, &strip[1], to);
                            }
                            None => to.write_bytes(0, self.row()),
                        }
                    }
                }
            }
        }
    }

    /// Copies a row of some channels, which begins at `from`.
    ///
    /// # Safety
    /// The row is valid. `to` is valid for writing [`row`](Self::row) elements.
    #[inline(always)]
    unsafe fn copy_row<T: Float>(
        &self,
        from: *const T,
        [channel, element]: [usize; 2],
        channels: usize,
        columns: &Range<usize>,
        to: *mut T,
    ) {
        let axis = self.axes[1];
        let reach = axis.reach(columns.len());
        for line in 0..axis.lines() {
            let Range { start: low, end: high } = axis.inside(columns.start, columns.len(), line);
            // SAFETY: the line is inside of the row; elements `low..high` are inside of the image.
            unsafe {
                let to = to.add(line * self.line());
                to.write_bytes(0, low * CHANNELS);
                to.add(high * CHANNELS).write_bytes(0, (reach - high) * CHANNELS);
                if low == high {
                    continue;
                }
                let Some(first) = axis.element(columns.start, line, low) else { continue };
                let (from, distances) = (from.add(first * element), [channel, element * axis.step()]);
                interleave(from, distances, to.add(low * CHANNELS), CHANNELS, channels, high - low);
            }
        }
    }
}
