//! Sums for each channel, and passes over the elements, of values whose channels are planes. Threads share the channels for
//! sums, and the elements for passes; the order of a sum depends on the shape alone.

use std::ops::Range;

use crate::cpu::epilogue::Finish;
use crate::cpu::isa::{Isa, dispatch};
use crate::cpu::number::Float;
use crate::cpu::pieces::{pairs, pieces};
use crate::cpu::sum::{LANES, RADIX, Sums};
use crate::team::Team;

/// The least number of elements that one thread computes at a time.
const PIECE: usize = 1 << 13;

/// `[rows, channels, plane]`.
#[derive(Clone, Copy)]
pub(super) struct Planes {
    pub(super) rows: usize,
    pub(super) channels: usize,
    pub(super) plane: usize,
}

impl Planes {
    /// The number of elements of a channel.
    fn count(self) -> usize {
        self.rows * self.plane
    }

    /// The mean and the variance of each channel.
    pub(super) fn statistics<T: Float>(
        self,
        (isa, team): (Isa, &Team),
        x: &[T],
        [mean, variance]: [&mut [T]; 2],
    ) {
        pairs(team, (mean, 1), (variance, 1), &|channel, mean, variance| {
            (mean[0], variance[0]) = statistics(isa, self, channel, x);
        });
    }

    /// The sums of the gradient of each channel, and of the gradient times the deviation from the mean.
    pub(super) fn gradient_sums<T: Float>(
        self,
        (isa, team): (Isa, &Team),
        [x, grad, mean]: [&[T]; 3],
        [of_bias, of_scale]: [&mut [T]; 2],
    ) {
        pairs(team, (of_bias, 1), (of_scale, 1), &|channel, of_bias, of_scale| {
            (of_bias[0], of_scale[0]) = gradient_sums(isa, self, channel, [x, grad], mean[channel]);
        });
    }

    /// `(x - mean) · factor + bias` for each element.
    pub(super) fn normalise<T: Float>(
        self,
        (isa, team): (Isa, &Team),
        x: &[T],
        channels: [&[T]; 3],
        (out, finish): (&mut [T], Finish<'_>),
    ) {
        pieces(team, out, PIECE, &|index, out| {
            normalise(isa, self, index * PIECE, x, channels, &mut *out);
            finish.piece(out, index * PIECE);
        });
    }

    /// `(grad - (bias + (x - mean) · scale)) · factor` for each element.
    pub(super) fn gradients<T: Float>(
        self,
        (isa, team): (Isa, &Team),
        elements: [&[T]; 2],
        channels: [&[T]; 4],
        out: &mut [T],
    ) {
        pieces(team, out, PIECE, &|index, out| {
            gradients(isa, self, index * PIECE, elements, channels, out);
        });
    }

    /// Computes `N` sums over the elements of a channel. `fill(terms, elements)` writes the terms of neighbouring elements.
    #[inline(always)]
    fn sums<T: Float, const N: usize>(
        self,
        isa: Isa,
        channel: usize,
        fill: impl Fn([&mut [T]; N], Range<usize>),
    ) -> [T; N] {
        let mut sums = [const { Sums::new() }; N];
        let mut terms = [[T::ZERO; RADIX * LANES]; N];
        let mut filled = 0;
        for row in 0..self.rows {
            let start = (row * self.channels + channel) * self.plane;
            for done in (0..self.plane).step_by(LANES) {
                let width = LANES.min(self.plane - done);
                let own = terms.each_mut().map(|terms| {
                    let (own, rest) = terms[filled * LANES..][..LANES].split_at_mut(width);
                    rest.fill(T::ZERO);
                    own
                });
                fill(own, start + done..start + done + width);
                filled += 1;
                if filled == RADIX {
                    for (sums, terms) in sums.iter_mut().zip(&terms) {
                        sums.add(isa, terms, LANES, RADIX, LANES);
                    }
                    filled = 0;
                }
            }
        }
        let mut finished = [T::ZERO; N];
        for ((finished, sums), terms) in finished.iter_mut().zip(&mut sums).zip(&terms) {
            sums.add(isa, terms, LANES, filled, LANES);
            *finished = sums.total(isa);
        }
        finished
    }

    /// Calls `run` with each run of neighbours in `elements` that lie in one channel, and with the channel.
    #[inline(always)]
    fn runs(self, elements: Range<usize>, mut run: impl FnMut(Range<usize>, usize)) {
        let mut at = elements.start;
        while at < elements.end {
            let end = (at + self.plane - at % self.plane).min(elements.end);
            run(at..end, at / self.plane % self.channels);
            at = end;
        }
    }
}

dispatch! {
    fn statistics<const FUSED: bool, T: Float>(isa, planes: Planes, channel: usize, x: &[T]) -> (T, T) {
        let count = T::of(planes.count().max(1) as f64);
        let [sum] = planes.sums(isa, channel, |[terms], elements| terms.copy_from_slice(&x[elements]));
        let mean = sum / count;
        let [sum] = planes.sums(isa, channel, |[terms], elements| {
            for (term, x) in terms.iter_mut().zip(&x[elements]) {
                let deviation = *x - mean;
                *term = deviation * deviation;
            }
        });
        (mean, sum / count)
    }
}

dispatch! {
    fn gradient_sums<const FUSED: bool, T: Float>(
        isa, planes: Planes, channel: usize, elements: [&[T]; 2], mean: T,
    ) -> (T, T) {
        let [x, grad] = elements;
        let [bias, scale] = planes.sums(isa, channel, |[of_bias, of_scale], elements| {
            let (grad, x) = (&grad[elements.clone()], &x[elements]);
            of_bias.copy_from_slice(grad);
            for (term, (grad, x)) in of_scale.iter_mut().zip(grad.iter().zip(x)) {
                *term = *grad * (*x - mean);
            }
        });
        (bias, scale)
    }
}

dispatch! {
    /// Normalises the elements from `first` on.
    wide if T::WIDE;
    fn normalise<const FUSED: bool, T: Float>(
        isa, planes: Planes, first: usize, x: &[T], channels: [&[T]; 3], out: &mut [T],
    ) {
        let [mean, factor, bias] = channels;
        planes.runs(first..first + out.len(), |run, channel| {
            let (mean, factor, bias) = (mean[channel], factor[channel], bias[channel]);
            let out = &mut out[run.start - first..run.end - first];
            for (out, x) in out.iter_mut().zip(&x[run]) {
                *out = (*x - mean) * factor + bias;
            }
        });
    }
}

dispatch! {
    /// The gradients of the elements from `first` on.
    wide if T::WIDE;
    fn gradients<const FUSED: bool, T: Float>(
        isa, planes: Planes, first: usize, elements: [&[T]; 2], channels: [&[T]; 4], out: &mut [T],
    ) {
        let ([x, grad], [mean, bias, scale, factor]) = (elements, channels);
        planes.runs(first..first + out.len(), |run, channel| {
            let (mean, bias) = (mean[channel], bias[channel]);
            let (scale, factor) = (scale[channel], factor[channel]);
            let out = &mut out[run.start - first..run.end - first];
            for ((out, x), grad) in out.iter_mut().zip(&x[run.clone()]).zip(&grad[run]) {
                *out = (*grad - (bias + (*x - mean) * scale)) * factor;
            }
        });
    }
}
