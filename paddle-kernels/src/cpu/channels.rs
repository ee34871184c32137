//! Values with channels: `[rows, channels, ..]`, and sums for each channel.

use std::ops::Range;

use paddle_core::plan::{Extent, Layout, Unsupported};

use super::kernel::Single;
use super::number::Float;
use super::sum::{LANES, RADIX, Sums, total};

/// Where the channels of a value are.
#[derive(Clone)]
pub(super) struct Shape {
    rows: Extent,
    channels: Extent,
    /// Height and width.
    inner: Vec<Extent>,
}

impl Shape {
    /// Of a value with rows and channels.
    pub(super) fn new(single: &Single<'_>, layout: &Layout) -> Result<Shape, Unsupported> {
        match &layout.shape[..] {
            [rows, channels, inner @ ..] => {
                Ok(Shape { rows: *rows, channels: *channels, inner: inner.to_vec() })
            }
            _ => single.refuse("of a value without channels"),
        }
    }

    pub(super) fn view(&self, sizes: &[usize]) -> View {
        let inner = self.inner.iter().map(|extent| extent.get(sizes)).product();
        View { rows: self.rows.get(sizes), channels: self.channels.get(sizes), inner }
    }
}

/// `[rows, channels, inner]`.
#[derive(Clone, Copy)]
pub(super) struct View {
    pub(super) rows: usize,
    pub(super) channels: usize,
    pub(super) inner: usize,
}

impl View {
    /// The elements of a channel.
    pub(super) fn count(self) -> usize {
        self.rows * self.inner
    }

    pub(super) fn len(self) -> usize {
        self.count() * self.channels
    }

    /// The channels whose sums are computed side by side.
    pub(super) fn block(self) -> usize {
        if self.inner == 1 { LANES } else { 1 }
    }

    /// Which channel goes with lane `lane` of a block that starts at channel `first`.
    #[inline(always)]
    pub(super) fn channel(self, first: usize, lane: usize) -> usize {
        if self.inner == 1 { first + lane } else { first }
    }

    /// Sums over the elements of some channels: `term(element, row, channel)`, for each.
    #[inline(always)]
    pub(super) fn sums<T: Float>(
        self,
        channels: Range<usize>,
        term: impl Fn(usize, usize, usize) -> T,
    ) -> [T; LANES] {
        let mut sums = Sums::new();
        let mut terms = [T::ZERO; RADIX * LANES];
        let mut filled = 0;
        // So many elements are neighbours.
        let run = if self.inner == 1 { channels.len() } else { self.inner };
        for row in 0..self.rows {
            let start = (row * self.channels + channels.start) * self.inner;
            for done in (0..run).step_by(LANES) {
                let width = LANES.min(run - done);
                let (own, rest) = terms[filled * LANES..][..LANES].split_at_mut(width);
                for (lane, own) in own.iter_mut().enumerate() {
                    *own = term(start + done + lane, row, self.channel(channels.start, done + lane));
                }
                rest.fill(T::ZERO);
                filled += 1;
                if filled == RADIX {
                    sums.add(&terms, LANES, RADIX, LANES);
                    filled = 0;
                }
            }
        }
        sums.add(&terms, LANES, filled, LANES);
        let sums = sums.finish();
        if self.inner == 1 { sums } else { [total(sums); LANES] }
    }

    /// Calls `run` with each run of neighbours in `elements` of one channel, or one each of neighbouring channels,
    /// and the first channel.
    #[inline(always)]
    pub(super) fn runs(self, elements: Range<usize>, mut run: impl FnMut(Range<usize>, usize)) {
        let length = if self.inner == 1 { self.channels } else { self.inner };
        let mut at = elements.start;
        while at < elements.end {
            let end = (at + length - at % length).min(elements.end);
            run(at..end, at / self.inner % self.channels);
            at = end;
        }
    }
}
