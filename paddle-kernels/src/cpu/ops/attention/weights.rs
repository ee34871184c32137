//! The weights of some tokens for some others: a row for each token, of a whole number of lanes.

use std::ops::Range;

use super::Part;
use crate::cpu::isa::dispatch;
use crate::cpu::number::{Float, exp_negative, ln};
use crate::cpu::ops::softmax::{larger, largest};

/// A row has a multiple of this many elements, so that vector code leaves no rest.
pub(in crate::cpu::ops) const LANES: usize = 16;

dispatch! {
    /// Makes weights of scores. `tops` are the largest scores of the rows so far, and `sums` the sums of weights, which are
    /// relative to them; `factors` become what all earlier weights have to be multiplied by.
    wide if T::WIDE;
    pub(in crate::cpu::ops) fn weigh<const FUSED: bool, T: Float>(
        isa, scores: &mut [T], tops: &mut [T], sums: &mut [T], factors: &mut [T],
    ) {
        let width = scores.len() / tops.len();
        for ((row, top), factor) in scores.chunks_exact_mut(width).zip(&mut *tops).zip(&mut *factors) {
            let new = larger(*top, largest(row));
            // A token that has no pair so far.
            let shift = T::select(new == T::of(f64::NEG_INFINITY), T::ZERO, new);
            *factor = *top - shift;
            *top = new;
            row.iter_mut().for_each(|score| *score -= shift);
        }
        scores.iter_mut().for_each(|score| *score = exp_negative::<FUSED, T>(*score));
        factors.iter_mut().for_each(|factor| *factor = exp_negative::<FUSED, T>(*factor));
        for ((row, sum), factor) in scores.chunks_exact(width).zip(sums).zip(factors) {
            *sum = sum.times_plus::<FUSED>(*factor, sum_of_lanes(row));
        }
    }
}

dispatch! {
    /// The last factors, by which the sums of weighted values become means; and the logarithms of sums of exponentials.
    wide if T::WIDE;
    pub(in crate::cpu::ops) fn finish<const FUSED: bool, T: Float>(isa, tops: &[T], sums: &mut [T], factors: &mut [T]) {
        for ((sum, factor), top) in sums.iter_mut().zip(factors).zip(tops) {
            *factor = T::of(1.0) / *sum;
            *sum = *top + ln::<FUSED, T>(*sum);
        }
    }
}

dispatch! {
    /// Makes weights of scores again, by the logarithms of their sums.
    wide if T::WIDE;
    pub(in crate::cpu::ops) fn weigh_again<const FUSED: bool, T: Float>(isa, scores: &mut [T], log_sums: &[T]) {
        let width = scores.len() / log_sums.len();
        for (row, sum) in scores.chunks_exact_mut(width).zip(log_sums) {
            row.iter_mut().for_each(|score| *score -= *sum);
        }
        scores.iter_mut().for_each(|score| *score = exp_negative::<FUSED, T>(*score));
    }
}

dispatch! {
    /// Makes gradients of scores of those of weights. `means` are the weighted means of the latter.
    wide if T::WIDE;
    pub(in crate::cpu::ops) fn of_scores<const FUSED: bool, T: Float>(isa, weights: &[T], means: &[T], grads: &mut [T]) {
        let width = weights.len() / means.len();
        let rows = weights.chunks_exact(width).zip(grads.chunks_exact_mut(width));
        for ((weights, grads), mean) in rows.zip(means) {
            for (weight, grad) in weights.iter().zip(grads) {
                *grad = *weight * (*grad - *mean);
            }
        }
    }
}

dispatch! {
    /// The products of some tokens with the same tokens in another value.
    wide if T::WIDE;
    pub(in crate::cpu::ops) fn dots<const FUSED: bool, T: Float>(
        isa, first: usize, x: Part<'_, T>, y: Part<'_, T>, out: &mut [T],
    ) {
        for (token, out) in (first..).zip(out) {
            let (x, y) = (x.row(token), y.row(token));
            let (whole, mut lanes) = (x.len() / LANES * LANES, [T::ZERO; LANES]);
            for (x, y) in x[..whole].chunks_exact(LANES).zip(y[..whole].chunks_exact(LANES)) {
                for ((lane, x), y) in lanes.iter_mut().zip(x).zip(y) {
                    *lane = x.times_plus::<FUSED>(*y, *lane);
                }
            }
            *out = sum_of_lanes(&lanes);
            for (x, y) in x[whole..].iter().zip(&y[whole..]) {
                *out = x.times_plus::<FUSED>(*y, *out);
            }
        }
    }
}

dispatch! {
    /// Whether some tokens are finite.
    wide if T::WIDE;
    pub(in crate::cpu::ops) fn is_finite<const FUSED: bool, T: Float>(
        isa, x: Part<'_, T>, tokens: Range<usize>,
    ) -> bool {
        // 0, unless there is an element of which no product is 0.
        let mut lanes = [T::ZERO; LANES];
        for token in tokens {
            let row = x.row(token);
            let rounds = row.chunks_exact(LANES);
            let rest = rounds.remainder();
            for x in rounds {
                lanes.iter_mut().zip(x).for_each(|(lane, x)| *lane += *x * T::ZERO);
            }
            rest.iter().for_each(|x| lanes[0] += *x * T::ZERO);
        }
        sum_of_lanes(&lanes) == T::ZERO
    }
}

dispatch! {
    wide if T::WIDE;
    pub(in crate::cpu::ops) fn scale<const FUSED: bool, T: Float>(isa, factor: T, row: &mut [T]) {
        row.iter_mut().for_each(|x| *x *= factor);
    }
}

/// The sum of a whole number of rounds of lanes.
#[inline(always)]
fn sum_of_lanes<T: Float>(row: &[T]) -> T {
    let mut lanes = [T::ZERO; LANES];
    for row in row.chunks_exact(LANES) {
        lanes.iter_mut().zip(row).for_each(|(lane, x)| *lane += *x);
    }
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            let other = lanes[i + half];
            lanes[i] += other;
        }
        half /= 2;
    }
    lanes[0]
}
