//! Groups of channels that are the fastest axis: `[rows, places, channels]`. Sums go down the places, for a few neighbouring
//! channels at once.

use super::Runs;
use crate::cpu::isa::dispatch;
use crate::cpu::number::Float;

/// The channels that are summed side by side.
const LANES: usize = 16;
/// The places whose terms are added up in single precision, before the sum is added to one in double precision.
const BLOCK: usize = 32;
/// The groups whose sums are computed before the next ones'.
const GROUPS: usize = 64;

/// Numbers of neighbouring channels.
type Lanes<T> = [T; LANES];

/// At most [`LANES`] neighbouring channels of a row, of which `first` is the first.
#[derive(Clone, Copy)]
struct Channels {
    first: usize,
    width: usize,
    /// The channels of a place, and the places.
    all: usize,
    places: usize,
}

impl Channels {
    #[inline(always)]
    fn load<T: Float>(self, from: &[T], place: usize) -> Lanes<T> {
        let from = &from[place * self.all + self.first..][..self.width];
        match from.try_into() {
            Ok(all) => all,
            Err(_) => {
                let mut lanes = [T::ZERO; LANES];
                lanes[..self.width].copy_from_slice(from);
                lanes
            }
        }
    }

    #[inline(always)]
    fn store<T: Float>(self, lanes: &Lanes<T>, to: &mut [T], place: usize) {
        let to = &mut to[place * self.all + self.first..][..self.width];
        match <&mut Lanes<T>>::try_from(&mut *to) {
            Ok(all) => *all = *lanes,
            Err(_) => to.copy_from_slice(&lanes[..self.width]),
        }
    }

    /// The sums of terms over all places, added to those of the channels' groups, which begin with group `group`.
    #[inline(always)]
    fn sums<T: Float, const N: usize, const M: usize>(
        self,
        from: [&[T]; N],
        own: usize,
        group: usize,
        sums: &mut [[f64; GROUPS]; M],
        terms: impl Fn([Lanes<T>; N]) -> [Lanes<T>; M],
    ) {
        let mut totals = [[0.0; LANES]; M];
        for begin in (0..self.places).step_by(BLOCK) {
            let mut block = [[T::ZERO; LANES]; M];
            for place in begin..self.places.min(begin + BLOCK) {
                let mut values = [[T::ZERO; LANES]; N];
                for (values, from) in values.iter_mut().zip(from) {
                    *values = self.load(from, place);
                }
                for (sums, terms) in block.iter_mut().zip(terms(values)) {
                    for (sum, term) in sums.iter_mut().zip(terms) {
                        *sum += term;
                    }
                }
            }
            for (totals, block) in totals.iter_mut().zip(&block) {
                for (total, block) in totals.iter_mut().zip(block) {
                    *total += block.double();
                }
            }
        }
        for (sums, totals) in sums.iter_mut().zip(&totals) {
            for (lane, total) in totals[..self.width].iter().enumerate() {
                sums[(self.first + lane) / own - group] += total;
            }
        }
    }

    /// A number of each channel, which is that of its group, or its own.
    #[inline(always)]
    fn numbers<T: Float>(self, number: impl Fn(usize) -> T) -> Lanes<T> {
        let mut lanes = [T::ZERO; LANES];
        for (lane, to) in lanes[..self.width].iter_mut().enumerate() {
            *to = number(self.first + lane);
        }
        lanes
    }
}

impl<T: Float> Runs<T> {
    /// Neighbouring channels of some groups.
    #[inline(always)]
    fn neighbours(self, groups: [usize; 2], at: usize) -> Channels {
        let [first, end] = groups.map(|group| group * self.channels());
        let first = first + at * LANES;
        Channels { first, width: LANES.min(end - first), all: self.view.channels, places: self.places }
    }

    /// In how many parts neighbouring channels of some groups are computed.
    #[inline(always)]
    fn parts(self, [first, end]: [usize; 2]) -> usize {
        ((end - first) * self.channels()).div_ceil(LANES)
    }
}

dispatch! {
    /// Normalises the runs of a row.
    wide if T::WIDE;
    pub(super) fn normalise<const FUSED: bool, T: Float>(
        isa, runs: Runs<T>, x: &[T], channels: [&[T]; 2], y: &mut [T], statistics: [&mut [T]; 2],
    ) {
        let ([scale, bias], [mean, variance], own) = (channels, statistics, runs.channels());
        let count = runs.length().max(1) as f64;
        for first in (0..runs.groups).step_by(GROUPS) {
            let groups = [first, runs.groups.min(first + GROUPS)];
            let mut sums = [[0.0; GROUPS]; 1];
            for part in 0..runs.parts(groups) {
                runs.neighbours(groups, part).sums([x], own, first, &mut sums, |x| x);
            }
            for group in first..groups[1] {
                mean[group] = T::of(sums[0][group - first] / count);
            }
            let mut sums = [[0.0; GROUPS]; 1];
            for part in 0..runs.parts(groups) {
                let channels = runs.neighbours(groups, part);
                let mean = channels.numbers(|channel| mean[channel / own]);
                channels.sums([x], own, first, &mut sums, |[mut x]| {
                    for (x, mean) in x.iter_mut().zip(&mean) {
                        *x = (*x - *mean) * (*x - *mean);
                    }
                    [x]
                });
            }
            for group in first..groups[1] {
                variance[group] = T::of(sums[0][group - first] / count);
            }
            for part in 0..runs.parts(groups) {
                let channels = runs.neighbours(groups, part);
                let mean = channels.numbers(|channel| mean[channel / own]);
                let factor = channels.numbers(|channel| runs.inverse(variance[channel / own]) * scale[channel]);
                let bias = channels.numbers(|channel| bias[channel]);
                for place in 0..runs.places {
                    let mut values = channels.load(x, place);
                    for (lane, value) in values.iter_mut().enumerate() {
                        *value = (*value - mean[lane]) * factor[lane] + bias[lane];
                    }
                    channels.store(&values, y, place);
                }
            }
        }
    }
}

dispatch! {
    /// The gradients of the elements of a row.
    wide if T::WIDE;
    pub(super) fn values<const FUSED: bool, T: Float>(
        isa, runs: Runs<T>, elements: [&[T]; 2], scale: &[T], statistics: [&[T]; 2], out: &mut [T],
    ) {
        let ([mean, variance], own) = (statistics, runs.channels());
        let count = runs.length().max(1) as f64;
        for first in (0..runs.groups).step_by(GROUPS) {
            let groups = [first, runs.groups.min(first + GROUPS)];
            // The mean of the gradients of the normalised elements, and that of their products with these elements.
            let mut sums = [[0.0; GROUPS]; 2];
            for part in 0..runs.parts(groups) {
                let channels = runs.neighbours(groups, part);
                let mean = channels.numbers(|channel| mean[channel / own]);
                let inverse = channels.numbers(|channel| runs.inverse(variance[channel / own]));
                let scale = channels.numbers(|channel| scale[channel]);
                channels.sums(elements, own, first, &mut sums, |[mut x, mut grad]| {
                    for lane in 0..LANES {
                        grad[lane] *= scale[lane];
                        x[lane] = grad[lane] * ((x[lane] - mean[lane]) * inverse[lane]);
                    }
                    [grad, x]
                });
            }
            for part in 0..runs.parts(groups) {
                let channels = runs.neighbours(groups, part);
                let mean = channels.numbers(|channel| mean[channel / own]);
                let inverse = channels.numbers(|channel| runs.inverse(variance[channel / own]));
                let scale = channels.numbers(|channel| scale[channel]);
                let [level, slope] = [0, 1].map(|k| {
                    channels.numbers(|channel| T::of(sums[k][channel / own - first] / count))
                });
                let [x, grad] = elements;
                for place in 0..runs.places {
                    let (x, mut values) = (channels.load(x, place), channels.load(grad, place));
                    for (lane, value) in values.iter_mut().enumerate() {
                        let deviation = (x[lane] - mean[lane]) * inverse[lane];
                        *value = (*value * scale[lane] - level[lane] - deviation * slope[lane]) * inverse[lane];
                    }
                    channels.store(&values, out, place);
                }
            }
        }
    }
}
