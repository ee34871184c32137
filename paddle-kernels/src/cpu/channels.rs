//! Values with channels, `[rows, channels, ..]` or `[rows, .., channels]` in memory, and sums for each channel.

use std::ops::Range;

use super::isa::Isa;
use super::number::Float;
use super::sum::{LANES, RADIX, Sums};

/// `[rows, channels, inner]`.
#[derive(Clone, Copy)]
pub(super) struct View {
    pub(super) rows: usize,
    pub(super) channels: usize,
    pub(super) inner: usize,
}

impl View {
    /// The number of elements of a channel.
    pub(super) fn count(self) -> usize {
        self.rows * self.inner
    }

    pub(super) fn len(self) -> usize {
        self.count() * self.channels
    }

    /// The number of channels whose sums are computed side by side.
    pub(super) fn block(self) -> usize {
        if self.inner == 1 { LANES } else { 1 }
    }

    /// The channel of lane `lane`, in a block that starts at channel `first`.
    #[inline(always)]
    pub(super) fn channel(self, first: usize, lane: usize) -> usize {
        if self.inner == 1 { first + lane } else { first }
    }

    /// Computes `N` sums over the elements of each of some channels. `fill(terms, elements, row, channel)` writes the
    /// terms of neighbouring elements of a row; `channel` is that of the first.
    #[inline(always)]
    pub(super) fn sums<T: Float, const N: usize>(
        self,
        isa: Isa,
        channels: Range<usize>,
        fill: impl Fn([&mut [T]; N], Range<usize>, usize, usize),
    ) -> [[T; LANES]; N] {
        let mut sums = [const { Sums::new() }; N];
        let mut terms = [[T::ZERO; RADIX * LANES]; N];
        let mut filled = 0;
        // This many elements are neighbours.
        let run = if self.inner == 1 { channels.len() } else { self.inner };
        for row in 0..self.rows {
            let start = (row * self.channels + channels.start) * self.inner;
            for done in (0..run).step_by(LANES) {
                let width = LANES.min(run - done);
                let own = terms.each_mut().map(|terms| {
                    let (own, rest) = terms[filled * LANES..][..LANES].split_at_mut(width);
                    rest.fill(T::ZERO);
                    own
                });
                let elements = start + done..start + done + width;
                fill(own, elements, row, self.channel(channels.start, done));
                filled += 1;
                if filled == RADIX {
                    for (sums, terms) in sums.iter_mut().zip(&terms) {
                        sums.add(isa, terms, LANES, RADIX, LANES);
                    }
                    filled = 0;
                }
            }
        }
        for (sums, terms) in sums.iter_mut().zip(&terms) {
            sums.add(isa, terms, LANES, filled, LANES);
        }
        let mut finished = [[T::ZERO; LANES]; N];
        for (finished, sums) in finished.iter_mut().zip(&sums) {
            *finished = match self.inner {
                1 => sums.finish(isa),
                _ => [sums.total(isa); LANES],
            };
        }
        finished
    }
}
