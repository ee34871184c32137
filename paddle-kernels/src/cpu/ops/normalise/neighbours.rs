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

    /// The sums of terms over all places.
    #[inline(always)]
    fn sums<T: Float, const N: usize, const M: usize>(
        self,
        from: [&[T]; N],
        terms: impl Fn([Lanes<T>; N]) -> [Lanes<T>; M],
    ) -> [Lanes<f64>; M] {
        let mut sums = [[0.0; LANES]; M];
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
            for (sums, block) in sums.iter_mut().zip(&block) {
                for (sum, block) in sums.iter_mut().zip(block) {
                    *sum += block.double();
                }
            }
        }
        sums
    }

    /// Adds sums of channels to those of their groups, of which `group` is the first.
    #[inline(always)]
    fn add(self, sums: Lanes<f64>, own: usize, group: usize, to: &mut [f64; GROUPS]) {
        for (lane, sum) in sums[..self.width].iter().enumerate() {
            to[(self.first + lane) / own - group] += sum;
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
            let mut sums = [0.0; GROUPS];
            for part in 0..runs.parts(groups) {
                let channels = runs.neighbours(groups, part);
                let [of_channels] = channels.sums([x], |x| x);
                channels.add(of_channels, own, first, &mut sums);
            }
            for group in first..groups[1] {
                mean[group] = T::of(sums[group - first] / count);
            }
            let mut sums = [0.0; GROUPS];
            for part in 0..runs.parts(groups) {
                let channels = runs.neighbours(groups, part);
                let mean = channels.numbers(|channel| mean[channel / own]);
                let [of_channels] = channels.sums([x], |[mut x]| {
                    for (x, mean) in x.iter_mut().zip(&mean) {
                        *x = (*x - *mean) * (*x - *mean);
                    }
                    [x]
                });
                channels.add(of_channels, own, first, &mut sums);
            }
            for group in first..groups[1] {
                variance[group] = T::of(sums[group - first] / count);
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
    /// The gradients of the elements of a row, and its part in those of bias and scale.
    wide if T::WIDE;
    pub(super) fn gradients<const FUSED: bool, T: Float>(
        isa, runs: Runs<T>, elements: [&[T]; 2], scale: &[T], statistics: [&[T]; 2], out: &mut [T], of_channels: &mut [f64],
    ) {
        let ([mean, variance], own) = (statistics, runs.channels());
        let count = runs.length().max(1) as f64;
        let (of_bias, of_scale) = of_channels.split_at_mut(runs.view.channels);
        for first in (0..runs.groups).step_by(GROUPS) {
            let groups = [first, runs.groups.min(first + GROUPS)];
            // The sums of the gradients of the normalised elements, and of their products with these elements.
            let (mut levels, mut slopes) = ([0.0; GROUPS], [0.0; GROUPS]);
            for part in 0..runs.parts(groups) {
                let channels = runs.neighbours(groups, part);
                let mean = channels.numbers(|channel| mean[channel / own]);
                let inverse = channels.numbers(|channel| runs.inverse(variance[channel / own]));
                let [mut level, mut slope] = channels.sums(elements, |[mut x, grad]| {
                    for lane in 0..LANES {
                        x[lane] = grad[lane] * ((x[lane] - mean[lane]) * inverse[lane]);
                    }
                    [grad, x]
                });
                let here = channels.first..channels.first + channels.width;
                of_bias[here.clone()].copy_from_slice(&level[..channels.width]);
                of_scale[here.clone()].copy_from_slice(&slope[..channels.width]);
                for (lane, scale) in scale[here].iter().enumerate() {
                    level[lane] *= scale.double();
                    slope[lane] *= scale.double();
                }
                channels.add(level, own, first, &mut levels);
                channels.add(slope, own, first, &mut slopes);
            }
            for part in 0..runs.parts(groups) {
                let channels = runs.neighbours(groups, part);
                let mean = channels.numbers(|channel| mean[channel / own]);
                let inverse = channels.numbers(|channel| runs.inverse(variance[channel / own]));
                let scale = channels.numbers(|channel| scale[channel]);
                let level = channels.numbers(|channel| T::of(levels[channel / own - first] / count));
                let slope = channels.numbers(|channel| T::of(slopes[channel / own - first] / count));
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
