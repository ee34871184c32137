//! Random numbers for each sample, which are the same in every run.

use std::f64::consts::TAU;

use super::{DataOf, IntoItem, Item, Reader};
use crate::random::SplitMix64;

/// Random numbers on the host, such as those by which samples are changed. They follow from where they begin, and from nothing
/// else.
///
/// ```
/// use paddle::reader::Random;
///
/// let mut random = Random::new(7);
/// assert!((0.0..1.0).contains(&random.uniform()));
/// assert!(random.below(6) < 6);
/// assert_eq!(Random::of(7, 1, 2).bits(), Random::of(7, 1, 2).bits());
/// assert_ne!(Random::of(7, 1, 2).bits(), Random::of(7, 2, 1).bits());
/// ```
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Random(SplitMix64::new(SplitMix64::new(seed).bits()))
    }

    /// The numbers of a sample: the one with this number in this pass.
    pub fn of(seed: u64, pass: u64, index: u64) -> Self {
        let mixed = |state: u64, number: u64| SplitMix64::new(state ^ SplitMix64::new(number).bits()).bits();
        // Each number is mixed before it is joined: neighbouring states would give the same numbers, shifted.
        Random(SplitMix64::new(mixed(mixed(mixed(0, seed), pass), !index)))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.below(end as u64) as usize
    }

    /// A whole number from `least` to `most`, both included; `least` if it is not the lesser.
    pub fn between(&mut self, least: isize, most: isize) -> isize {
        let width = most.checked_sub(least).filter(|&width| width > 0).unwrap_or(0);
        least + self.below(width as usize + 1) as isize
    }

    /// A number from 0 up to 1, which is not included.
    pub fn uniform(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1_u32 << 24) as f32
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f32) -> bool {
        self.uniform() < probability
    }

    /// A number of the normal distribution with mean 0 and variance 1: Box and Muller, "A note on the generation of random
    /// normal deviates", 1958.
    pub fn normal(&mut self) -> f32 {
        // 53 bits, moved so that 0 is none.
        let mut open = || ((self.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        let (radius, angle) = ((-2.0 * open().ln()).sqrt(), TAU * open());
        (radius * angle.cos()) as f32
    }

    /// A number of the beta distribution with both parameters `alpha`, from 0 to 1, as mix-up takes it: Jöhnk, "Erzeugung von
    /// betaverteilten und gammaverteilten Zufallszahlen", 1964. An `alpha` that is not above 0 gives 0 or 1; above 1 it counts
    /// as 1, where all numbers are equally probable.
    pub fn beta(&mut self, alpha: f32) -> f32 {
        let power = 1.0 / alpha.clamp(1e-3, 1.0);
        loop {
            let [x, y] = [self.uniform(), self.uniform()].map(|number| number.powf(power));
            if x + y > 0.0 && x + y <= 1.0 {
                return x / (x + y);
            }
            // Both powers of small numbers are 0.
            if x + y == 0.0 {
                return f32::from(u8::from(self.chance(0.5)));
            }
        }
    }
}

/// The reader that [`Reader::with_random`] returns.
#[derive(Clone, Debug)]
pub struct WithRandom<I> {
    reader: I,
    seed: u64,
    pass: u64,
    index: u64,
}

impl<I> WithRandom<I> {
    pub(super) fn new(reader: I, seed: u64) -> Self {
        WithRandom { reader, seed, pass: 0, index: 0 }
    }
}

impl<I: Reader> Iterator for WithRandom<I> {
    type Item = Item<(DataOf<I>, Random)>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self.reader.next()?.into_item() {
            Item::Data(data) => {
                let random = Random::of(self.seed, self.pass, self.index);
                self.index += 1;
                Item::Data((data, random))
            }
            Item::EndPass => {
                (self.pass, self.index) = (self.pass + 1, 0);
                Item::EndPass
            }
            Item::Failed(failure) => Item::Failed(failure),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.reader.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::DataSet;

    #[test]
    fn numbers_are_those_of_pass_and_place() {
        let numbers = |items: Vec<Item<(u8, Random)>>| -> Vec<Vec<u64>> {
            let passes = items.split(|item| matches!(item, Item::EndPass));
            passes
                .map(|pass| {
                    let bits = pass.iter().map(|item| match item {
                        Item::Data((_, random)) => random.clone().bits(),
                        _ => panic!("there is data only"),
                    });
                    bits.collect()
                })
                .collect()
        };
        let all = numbers((0..9_u8).passes(3).with_random(5).collect());
        let distinct: std::collections::BTreeSet<_> = all.iter().flatten().collect();
        assert_eq!(distinct.len(), 27);
        // What a sample gets does not depend on passes before, nor on what the samples are or do.
        let second = [Item::EndPass].into_iter().chain((7..9).map(Item::Data)).with_random(5).collect();
        assert_eq!(numbers(second)[1], all[1][..2]);
        assert_ne!(numbers((0..9).passes(1).with_random(6).collect())[0], all[0]);
    }

    #[test]
    fn several_threads_draw_the_same() {
        let change = |(x, mut random): (u8, Random)| (x, random.below(1000), random.uniform());
        let alone: Vec<_> = (0..40_u8).passes(2).with_random(1).map_data(change).collect();
        let threads: Vec<_> = (0..40_u8).passes(2).with_random(1).parallel_map(3, change).collect();
        assert_eq!(alone, threads);
    }

    /// Means and variances over 20,000 numbers, within five standard errors.
    #[test]
    fn distributions_have_their_moments() {
        fn moments(mut draw: impl FnMut(&mut Random) -> f32) -> (f64, f64) {
            let mut random = Random::new(3);
            let drawn: Vec<f64> = (0..20_000).map(|_| draw(&mut random).into()).collect();
            let mean = drawn.iter().sum::<f64>() / 20_000.0;
            (mean, drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0)
        }
        let near = |(mean, variance): (f64, f64), expected: (f64, f64)| {
            assert!((mean - expected.0).abs() < 5.0 * (expected.1 / 20_000.0).sqrt(), "{mean} {expected:?}");
            assert!((variance / expected.1 - 1.0).abs() < 0.1, "{variance} {expected:?}");
        };
        near(moments(Random::uniform), (0.5, 1.0 / 12.0));
        near(moments(Random::normal), (0.0, 1.0));
        near(moments(|random| random.between(-3, 3) as f32), (0.0, 4.0));
        // The variance of a beta distribution is 1 / (4 (2 α + 1)).
        near(moments(|random| random.beta(0.2)), (0.5, 1.0 / 5.6));
        near(moments(|random| random.beta(1.0)), (0.5, 1.0 / 12.0));
        near(moments(|random| f32::from(u8::from(random.chance(0.25)))), (0.25, 0.1875));
        assert_eq!((Random::new(0).between(2, 1), Random::new(0).below(0)), (2, 0));
        assert!([0.0, 1.0].contains(&Random::new(0).beta(0.0).round()));
    }
}
