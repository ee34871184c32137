//! Strips of results, and the values that they meet, in bf16.
#![allow(unsafe_code, reason = "vector instructions, and images through raw pointers")]

use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use std::ops::Range;

use crate::cpu::amx::{BLOCK, DEPTH, SIDE, TILE};
use crate::cpu::images::Images;
use crate::cpu::ops::conv2d::axis::Axis;
use crate::cpu::pairs::{Pair, pairs_of};

/// The most bytes of the values that a strip meets: a part of the second-level cache.
const MOST_BYTES: usize = 96 * 1024;
/// About so many bytes are enough for a strip of several images.
const ENOUGH_BYTES: usize = 48 * 1024;
/// There are at least so many strips, if there are as many images: threads share them.
const FEWEST: usize = 8;

/// The strips that the results of all images are cut into: some rows of an image, or some images. They depend on the sizes
/// alone.
#[derive(Clone, Copy)]
pub(super) struct Strips {
    pub(super) axes: [Axis; 2],
    source: Images,
    results: Images,
    /// The images of a strip, and the rows of results of each.
    size: [usize; 2],
}

/// Some results: of these images, these rows.
pub(super) struct Strip {
    images: Range<usize>,
    rows: Range<usize>,
    /// The results of a row.
    columns: usize,
}

impl Strip {
    pub(super) fn results(&self) -> usize {
        self.images.len() * self.rows.len() * self.columns
    }
}

/// The values that a strip meets.
#[repr(align(64))]
pub(super) struct Buffer(MaybeUninit<[u16; MOST_BYTES / 2]>);

impl Buffer {
    pub(super) fn new() -> Buffer {
        Buffer(MaybeUninit::uninit())
    }

    pub(super) fn values(&mut self) -> *mut u16 {
        self.0.as_mut_ptr().cast()
    }
}

/// Where the values begin that some results meet; as many of them as there are.
#[derive(Clone, Copy)]
pub(super) struct Places {
    at: [usize; BLOCK],
    count: usize,
}

impl Strips {
    /// Cuts the results into strips; none if what a row of results meets has too many bytes.
    pub(super) fn new(axes: [Axis; 2], source: Images, results: Images) -> Option<Strips> {
        let rows = axes[0].count;
        let strips = |size| Strips { axes, source, results, size };
        let bytes = |size| strips(size).values().saturating_mul(size_of::<u16>());
        let high = (1..=rows.max(1)).rev().find(|&rows| bytes([1, rows]) <= MOST_BYTES)?;
        if high < rows {
            // Strips of about the same height.
            return Some(strips([1, rows.div_ceil(rows.div_ceil(high))]));
        }
        let together = ENOUGH_BYTES / bytes([1, high]).max(1);
        Some(strips([together.clamp(1, (source.count / FEWEST).max(1)), high]))
    }

    /// The values that a strip meets at most.
    fn values(&self) -> usize {
        let [images, rows] = self.size;
        let [down, across] = [rows, self.axes[1].count].map(|count| count.max(1));
        images * self.axes[0].span(down) * self.axes[1].span(across) * self.source.channels
    }

    pub(super) fn count(&self) -> usize {
        match self.axes {
            [down, across] if down.count * across.count > 0 => {
                self.source.count.div_ceil(self.size[0]) * down.count.div_ceil(self.size[1])
            }
            _ => 0,
        }
    }

    pub(super) fn strip(&self, index: usize) -> Strip {
        let down = self.axes[0].count.div_ceil(self.size[1]);
        let part = |at: usize, size: usize, end: usize| at * size..end.min((at + 1) * size);
        Strip {
            images: part(index / down, self.size[0], self.source.count),
            rows: part(index % down, self.size[1], self.axes[0].count),
            columns: self.axes[1].count,
        }
    }

    /// Whether the results of a strip are neighbours.
    pub(super) fn is_dense(&self) -> bool {
        self.axes.iter().all(|axis| axis.output_step == 1)
    }

    /// The number of the first result of a strip, among those of all images.
    pub(super) fn first_result(&self, strip: &Strip) -> usize {
        self.result(strip, 0)
    }

    /// The number of a result of a strip, among those of all images.
    pub(super) fn result(&self, strip: &Strip, at: usize) -> usize {
        let (row, x) = (at / strip.columns, at % strip.columns);
        let image = strip.images.start + row / strip.rows.len();
        let y = strip.rows.start + row % strip.rows.len();
        let [height, width] = self.results.size;
        (image * height + self.axes[0].output(y)) * width + self.axes[1].output(x)
    }

    /// The values of a row that a strip meets, and those of an image.
    fn distances(&self, strip: &Strip) -> [usize; 2] {
        let row = self.axes[1].span(strip.columns) * self.source.channels;
        [row, self.axes[0].span(strip.rows.len()) * row]
    }

    /// The runs of neighbouring values that a result meets, and the values of each.
    pub(super) fn runs(&self) -> [usize; 2] {
        let ([down, across], channels) = (self.axes, self.source.channels);
        match across.stride.unsigned_abs() {
            1 => [down.taps, across.taps * channels],
            _ => [down.taps * across.taps, channels],
        }
    }

    /// The tiles of a run.
    pub(super) fn tiles_of_run(&self) -> usize {
        self.runs()[1].div_ceil(DEPTH)
    }

    /// The tiles of what a result meets. Each has values of one run.
    pub(super) fn tiles(&self) -> usize {
        self.runs()[0] * self.tiles_of_run()
    }

    /// Whether three fifths or more of tiles are values. Otherwise numbers as they are are multiplied faster.
    pub(super) fn fill_tiles(&self) -> bool {
        5 * self.runs()[1] >= 3 * self.tiles_of_run() * DEPTH
    }

    /// The taps that the run of a tile begins with, in the order of the source, and the place of the tile's first value in the run.
    fn begin(&self, tile: usize) -> ([usize; 2], usize) {
        let [runs, _] = self.runs();
        let (run, first) = (tile / self.tiles_of_run(), tile % self.tiles_of_run() * DEPTH);
        // A run has all taps across, or one of them.
        let runs_of_row = runs / self.axes[0].taps;
        ([run / runs_of_row, run % runs_of_row], first)
    }

    /// The elements of filters that the values of a tile are multiplied with, as many as there are. `width` is that of a filter,
    /// and `inner` the distance of neighbouring channels in it.
    pub(super) fn met(&self, tile: usize, width: usize, inner: usize) -> ([i32; DEPTH], usize) {
        let ([down, across], channels) = (self.axes, self.source.channels);
        let ([y, x], first) = self.begin(tile);
        // Runs are in the order of the source, and taps may be in the other.
        let met = |axis: Axis, at: usize| axis.met(if axis.stride < 0 { axis.taps - 1 - at } else { at });
        let (mut elements, count) = ([0; DEPTH], (self.runs()[1] - first).min(DEPTH));
        for (value, element) in (first..).zip(&mut elements[..count]) {
            let (at, channel) = (value / channels, value % channels);
            *element = (channel * inner + met(down, y) * width + met(across, x + at)) as i32;
        }
        (elements, count)
    }

    /// Rounds what a strip meets.
    ///
    /// # Safety
    /// The machine has AVX-512 BF16, and `to` is a [`Buffer`]'s.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    pub(super) unsafe fn round(&self, source: &[f32], strip: &Strip, to: *mut u16) {
        let (channels, [height, width]) = (self.source.channels, self.source.size);
        let [row, image_values] = self.distances(strip);
        let (down, across) = (self.axes[0].span(strip.rows.len()), self.axes[1].span(strip.columns));
        let first_y = self.axes[0].first_met(strip.rows.start);
        let first_x = self.axes[1].first_met(0);
        let inside = |first: isize, count: usize, end: usize| {
            let begin = (-first).clamp(0, count as isize);
            let end = (end as isize - first).clamp(begin, count as isize);
            begin as usize..end as usize
        };
        let columns = inside(first_x, across, width);
        for (at, image) in strip.images.clone().enumerate() {
            for y in 0..down {
                // SAFETY: the row is inside of the buffer, the elements are inside of the image.
                unsafe {
                    let to = to.add(at * image_values + y * row);
                    let source_y = first_y + y as isize;
                    if columns.is_empty() || !(0..height as isize).contains(&source_y) {
                        to.write_bytes(0, row);
                        continue;
                    }
                    to.write_bytes(0, columns.start * channels);
                    let from = (image * height + source_y as usize) * width;
                    let from = from + (first_x + columns.start as isize) as usize;
                    let from = &source[from * channels..][..columns.len() * channels];
                    round(from, to.add(columns.start * channels));
                    to.add(columns.end * channels).write_bytes(0, (across - columns.end) * channels);
                }
            }
        }
    }

    /// Where the values begin that some results of a strip meet.
    pub(super) fn places(&self, strip: &Strip, results: Range<usize>) -> Places {
        let [row, image] = self.distances(strip);
        let [down, across] = self.axes;
        let column = across.step() * self.source.channels;
        let mut places = Places { at: [0; BLOCK], count: results.len() };
        let (line, mut x) = (results.start / strip.columns, results.start % strip.columns);
        let (mut at, mut y) = (line / strip.rows.len(), line % strip.rows.len());
        for place in &mut places.at[..results.len()] {
            *place = at * image + y * down.step() * row + x * column;
            x += 1;
            if x == strip.columns {
                (x, y) = (0, y + 1);
                if y == strip.rows.len() {
                    (y, at) = (0, at + 1);
                }
            }
        }
        places
    }

    /// Where a tile's values begin, from the first that a result meets on, and which of them are in its run.
    pub(super) fn of_tile(&self, strip: &Strip, tile: usize) -> (usize, u32) {
        let ([y, x], first) = self.begin(tile);
        let [row, _] = self.distances(strip);
        let [down, across] = self.axes.map(|axis| axis.stride.unsigned_abs());
        let distance = y * down * row + x * across * self.source.channels;
        let count = (self.runs()[1] - first).min(DEPTH);
        (distance + first, (u64::MAX >> (64 - count)) as u32)
    }

    /// Packs what results meet as rows of a left factor.
    ///
    /// # Safety
    /// The machine has AVX-512, `values` are what the strip meets, and `to` is valid for writing two tiles for each.
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) unsafe fn pack_rows(
        &self,
        strip: &Strip,
        values: *const u16,
        places: &Places,
        tiles: Range<usize>,
        to: *mut Pair,
    ) {
        for (at, tile) in tiles.enumerate() {
            let (first, mask) = self.of_tile(strip, tile);
            for row in 0..BLOCK {
                // SAFETY: the values of a run that begin at a place are inside of the buffer; others are masked off.
                unsafe {
                    let to = to.add(at * 2 * TILE + row * SIDE);
                    let mask = if row < places.count { mask } else { 0 };
                    let from = values.wrapping_add(places.at[row] + first).cast();
                    _mm512_storeu_si512(to.cast(), _mm512_maskz_loadu_epi16(mask, from));
                }
            }
        }
    }
}

impl Places {
    pub(super) const NONE: Places = Places { at: [0; BLOCK], count: 0 };

    /// Packs a tile's values as rows of a right factor, whose inner dimension are the results: two tiles of columns.
    ///
    /// # Safety
    /// As for [`Strips::pack_rows`].
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) unsafe fn pack_columns(&self, values: *const u16, (first, mask): (usize, u32), to: *mut Pair) {
        /// The numbers of the lower halves of two registers in turn, and of the upper ones.
        const IN_TURN: [[i16; 32]; 2] = {
            let mut order = [[0; 32]; 2];
            let mut at = 0;
            while at < 32 {
                order[0][at] = (at / 2 + at % 2 * 32) as i16;
                order[1][at] = order[0][at] + 16;
                at += 1;
            }
            order
        };
        for pair in 0..SIDE {
            // SAFETY: as in `pack_rows`.
            unsafe {
                let [a, b] = [2 * pair, 2 * pair + 1].map(|result| {
                    let mask = if result < self.count { mask } else { 0 };
                    let from = values.wrapping_add(self.at[result] + first).cast();
                    _mm512_maskz_loadu_epi16(mask, from)
                });
                for (half, order) in IN_TURN.iter().enumerate() {
                    let order = _mm512_loadu_si512(order.as_ptr().cast());
                    let pairs = _mm512_permutex2var_epi16(a, order, b);
                    _mm512_storeu_si512(to.add(half * TILE + pair * SIDE).cast(), pairs);
                }
            }
        }
    }
}

/// Rounds numbers.
///
/// # Safety
/// The machine has AVX-512 BF16, and `to` is valid for writing as many.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
#[inline]
unsafe fn round(from: &[f32], to: *mut u16) {
    let mut at = 0;
    while at < from.len() {
        let count = (from.len() - at).min(2 * SIDE);
        let mask = (u64::MAX >> (64 - count)) as u32;
        // SAFETY: the masks leave out what is behind the numbers.
        unsafe {
            let from = from.as_ptr().add(at);
            let low = _mm512_maskz_loadu_ps(mask as u16, from);
            let high = _mm512_maskz_loadu_ps((mask >> 16) as u16, from.wrapping_add(SIDE));
            _mm512_mask_storeu_epi16(to.add(at).cast(), mask, pairs_of([low, high]));
        }
        at += count;
    }
}
