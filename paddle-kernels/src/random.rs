//! Counter-based random numbers, which every backend draws from. A number is a function of a seed, a stream and a
//! position, so neither the order of the draws nor the number of threads changes it.
//!
//! The bits are those of Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011), with
//! the seed as its key and (position, stream) as its counter.

use std::f64::consts::TAU;

/// The draws of a number that has to lie within two standard deviations. One in 22 is outside the bounds; all of them are not.
pub(crate) const DRAWS: u64 = 64;
/// The distance between the streams of these draws.
pub(crate) const STREAM_OF_DRAW: u64 = 0x9E37_79B9_7F4A_7C15;

/// The random numbers of one seed and stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Random {
    /// The seed of the run.
    pub(crate) seed: u64,
    /// The stream, which tells the numbers of different operators apart.
    pub(crate) stream: u64,
}

impl Random {
    /// Uniform on `[min, max)`.
    pub(crate) fn uniform(self, position: u64, min: f64, max: f64) -> f64 {
        let value = min + fraction(self.pair(position)[(position % 2) as usize]) * (max - min);
        // Rounding may give the upper bound itself.
        if value < max { value } else { max.next_down().max(min) }
    }

    /// Uniform on `[min, max)`, rounded to `f32`.
    pub(crate) fn uniform_f32(self, position: u64, min: f64, max: f64) -> f32 {
        let (value, bound) = (self.uniform(position, min, max) as f32, max as f32);
        if value < bound { value } else { bound.next_down().max(min as f32) }
    }

    /// Normal, with mean 0 and standard deviation 1, by the Box-Muller transform.
    pub(crate) fn gaussian(self, position: u64) -> f64 {
        self.polar(position).at(position)
    }

    /// The normal numbers of positions 2i and 2i + 1, in polar coordinates.
    fn polar(self, position: u64) -> Polar {
        let [u, v] = self.pair(position).map(fraction);
        // 1 - u is not 0.
        Polar { radius: (-2.0 * (1.0 - u).ln()).sqrt(), angle: TAU * v }
    }

    /// Normal like [`gaussian`](Self::gaussian), for positions that mostly follow each other.
    pub(crate) fn gaussians(self) -> impl FnMut(u64) -> f64 {
        let (mut pair, mut polar) = (0, self.polar(0));
        move |position| {
            if position / 2 != pair {
                (pair, polar) = (position / 2, self.polar(position));
            }
            polar.at(position)
        }
    }

    /// Normal, but within two standard deviations of the mean. Each position has several draws, each from a stream of
    /// its own, and the first draw within the bounds counts.
    pub(crate) fn truncated_gaussian(self, position: u64) -> f64 {
        let draw = |draw: u64| {
            let stream = self.stream.wrapping_add(draw.wrapping_mul(STREAM_OF_DRAW));
            Random { stream, ..self }.gaussian(position)
        };
        (0..DRAWS).map(draw).find(|value| value.abs() <= 2.0).unwrap_or(0.0)
    }

    /// The words of positions `first`, `first + 1`, …. A block of bits has four words.
    pub(crate) fn words(self, first: u64) -> impl Iterator<Item = u32> {
        let block = move |index: u64| {
            let ([a, b], [c, d]) = (halves(index), halves(self.stream));
            philox([a, b, c, d], halves(self.seed))
        };
        (first / 4..).flat_map(block).skip((first % 4) as usize)
    }

    /// The bits that positions 2i and 2i + 1 share.
    fn pair(self, position: u64) -> [u64; 2] {
        let ([a, b], [c, d]) = (halves(position / 2), halves(self.stream));
        let [a, b, c, d] = philox([a, b, c, d], halves(self.seed));
        [u64::from(a) | u64::from(b) << 32, u64::from(c) | u64::from(d) << 32]
    }
}

/// A point on the plane, both of whose coordinates are normal.
#[derive(Clone, Copy)]
struct Polar {
    radius: f64,
    angle: f64,
}

impl Polar {
    /// The coordinate that belongs to a position.
    fn at(self, position: u64) -> f64 {
        self.radius * if position.is_multiple_of(2) { self.angle.cos() } else { self.angle.sin() }
    }
}

/// The bound below which words lie with this probability.
pub(crate) fn dropped_below(probability: f64) -> u64 {
    (probability * (u64::from(u32::MAX) + 1) as f64).round() as u64
}

fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// A number on `[0, 1)`, from the upper bits.
fn fraction(bits: u64) -> f64 {
    (bits >> (u64::BITS - f64::MANTISSA_DIGITS)) as f64 / (1_u64 << f64::MANTISSA_DIGITS) as f64
}

/// Philox4x32 with ten rounds.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    const ROUNDS: usize = 10;
    const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
    const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    for _ in 0..ROUNDS {
        let product = |multiplier: u32, word: u32| u64::from(multiplier) * u64::from(word);
        let (x, y) = (product(MULTIPLIERS[0], counter[0]), product(MULTIPLIERS[1], counter[2]));
        counter = [
            (y >> 32) as u32 ^ counter[1] ^ key[0],
            y as u32,
            (x >> 32) as u32 ^ counter[3] ^ key[1],
            x as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers of the authors' library, Random123.
    #[test]
    fn philox_gives_the_known_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    const COUNT: u64 = 100_000;

    fn moments(draw: impl Fn(u64) -> f64) -> (f64, f64) {
        let mean = (0..COUNT).map(&draw).sum::<f64>() / COUNT as f64;
        let variance = (0..COUNT).map(|i| (draw(i) - mean).powi(2)).sum::<f64>() / COUNT as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn uniform_numbers_are_uniform() {
        let random = Random { seed: 7, stream: 3 };
        let (mean, deviation) = moments(|i| random.uniform(i, -1.0, 3.0));
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((deviation - 4.0 / 12_f64.sqrt()).abs() < 0.02, "{deviation}");
        let mut cells = [0; 10];
        for i in 0..COUNT {
            let value = random.uniform_f32(i, 0.0, 1.0);
            cells[(value * 10.0) as usize] += 1;
        }
        assert!(cells.iter().all(|&cell: &i32| (cell - 10_000).abs() < 500), "{cells:?}");
    }

    #[test]
    fn normal_numbers_are_normal() {
        let random = Random { seed: 7, stream: 4 };
        let (mean, deviation) = moments(|i| random.gaussian(i));
        assert!(mean.abs() < 0.02 && (deviation - 1.0).abs() < 0.02, "{mean} {deviation}");
        let within = |bound| (0..COUNT).filter(|&i| random.gaussian(i).abs() < bound).count() as f64;
        assert!((within(1.0) / COUNT as f64 - 0.6827).abs() < 0.01);
        assert!((within(2.0) / COUNT as f64 - 0.9545).abs() < 0.01);
        let mut gaussians = random.gaussians();
        assert!([0, 1, 2, 5, 4, 9, 8, 8, 0].into_iter().all(|i| gaussians(i) == random.gaussian(i)));
        // Positions 2i and 2i + 1 share a block of bits, but their numbers are independent.
        let product = |i| random.gaussian(2 * i) * random.gaussian(2 * i + 1);
        assert!(moments(product).0.abs() < 0.02);
    }

    #[test]
    fn truncated_numbers_are_near() {
        let random = Random { seed: 7, stream: 5 };
        let (mean, deviation) = moments(|i| random.truncated_gaussian(i));
        // The expected deviation is √(1 - 4φ(2) / (2Φ(2) - 1)).
        assert!(mean.abs() < 0.02 && (deviation - 0.8796).abs() < 0.02, "{mean} {deviation}");
        assert!((0..COUNT).all(|i| random.truncated_gaussian(i).abs() <= 2.0));
        // A number that is within the bounds at the first draw stays.
        let near = |i: &u64| random.gaussian(*i).abs() <= 2.0;
        assert!((0..1000).filter(near).all(|i| random.gaussian(i) == random.truncated_gaussian(i)));
    }

    #[test]
    fn the_upper_bound_is_not_reached() {
        let random = Random { seed: 0, stream: 0 };
        for position in 0..10_000 {
            // Half of the numbers here would round up to the bound.
            assert!(random.uniform_f32(position, 1.0, f64::from(1_f32.next_up())) < 1_f32.next_up());
            assert!(random.uniform(position, 1.0, 1_f64.next_up()) < 1_f64.next_up());
            assert_eq!(random.uniform_f32(position, 2.0, 2.0), 2.0);
        }
    }

    #[test]
    fn seeds_streams_and_positions_differ() {
        let draw = |seed, stream, position| Random { seed, stream }.uniform(position, 0.0, 1.0);
        let all =
            [draw(0, 0, 0), draw(1, 0, 0), draw(0, 1, 0), draw(0, 0, 1), draw(0, 0, 2), draw(1 << 32, 0, 0)];
        for (i, value) in all.iter().enumerate() {
            assert!(!all[..i].contains(value), "{all:?}");
        }
    }
}
