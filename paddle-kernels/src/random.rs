//! Random numbers by counter: element `i` is a function of (seed, stream, `i`), so that neither order nor the number of
//! threads matters. Every backend uses this generator, and gets the same bits.

/// The odd number nearest to 2⁶⁴ divided by the golden ratio: the step of SplitMix64.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The random numbers of one stream: a SplitMix64 generator whose every output can be had at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    key: u64,
}

impl Draws {
    /// The numbers of `stream` under `seed`.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Draws { key: mix(mix(seed.wrapping_add(STEP)) ^ stream) }
    }

    fn bits(self, counter: u64) -> u64 {
        mix(self.key.wrapping_add(counter.wrapping_add(1).wrapping_mul(STEP)))
    }

    /// Element `i`, uniform on `[min, max)`, with 24 random bits: programs of `f32` and of `f64` draw the same.
    pub(crate) fn uniform(self, i: u64, min: f64, max: f64) -> f64 {
        let unit = (self.bits(i) >> 40) as f64 / (1u64 << 24) as f64;
        min + (max - min) * unit
    }

    /// [`Draws::uniform`] in single precision. Where rounding would reach `max`, the number below.
    pub(crate) fn uniform_f32(self, i: u64, min: f64, max: f64) -> f32 {
        let value = self.uniform(i, min, max) as f32;
        if f64::from(value) < max { value } else { value.next_down().max(min as f32) }
    }

    /// Element `i`, normal: one of the pair that the method of Box and Muller makes of two uniform numbers.
    pub(crate) fn gaussian(self, i: u64, mean: f64, std: f64) -> f64 {
        let bits = self.bits(i);
        let unit = 1.0 / (1u64 << 32) as f64;
        // The first is in (0, 1], where the logarithm is finite.
        let (radius, angle) = (((bits >> 32) + 1) as f64 * unit, (bits & 0xFFFF_FFFF) as f64 * unit);
        mean + std * (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

/// The output function of SplitMix64.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u64 = 100_000;

    /// Mean, variance and the correlation of neighbours.
    fn moments(draw: impl Fn(u64) -> f64) -> [f64; 3] {
        let mean = (0..N).map(&draw).sum::<f64>() / N as f64;
        let product = |lag| (0..N).map(|i| (draw(i) - mean) * (draw(i + lag) - mean)).sum::<f64>() / N as f64;
        [mean, product(0), product(1) / product(0)]
    }

    fn assert_near(found: [f64; 3], expected: [f64; 3]) {
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 0.02;
        assert!(found.iter().zip(&expected).all(near), "{found:?} instead of {expected:?}");
    }

    #[test]
    fn has_the_moments_of_its_distribution() {
        for draws in [Draws::new(0, 0), Draws::new(1, 0), Draws::new(0, 1), Draws::new(7, u64::MAX)] {
            assert_near(moments(|i| draws.uniform(i, -1.0, 1.0)), [0.0, 1.0 / 3.0, 0.0]);
            assert_near(moments(|i| draws.gaussian(i, 1.0, 1.0)), [1.0, 1.0, 0.0]);
        }
    }

    #[test]
    fn streams_and_seeds_differ() {
        let [a, b] = [Draws::new(0, 1), Draws::new(1, 0)];
        let both = moments(|i| a.uniform(i, -1.0, 1.0) + b.uniform(i, -1.0, 1.0));
        assert_near(both, [0.0, 2.0 / 3.0, 0.0]);
    }

    #[test]
    fn does_not_change() {
        // The first numbers that SplitMix64 gives from state 0.
        assert_eq!([0, 1].map(|i| Draws { key: 0 }.bits(i)), [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
        let draws = Draws::new(42, 7);
        assert_eq!(draws.uniform(0, 0.0, 1.0), 0.6960084438323975);
        assert!((draws.gaussian(0, 0.0, 1.0) - -0.7364834777102476).abs() < 1e-12);
    }

    #[test]
    fn stays_below_the_upper_bound() {
        let draws = Draws::new(3, 3);
        let next = 1.0 + f64::from(f32::EPSILON);
        for i in 0..1000 {
            assert_eq!(draws.uniform_f32(i, 1.0, next), 1.0);
            assert!((-0.5..0.5).contains(&draws.uniform_f32(i, -0.5, 0.5)));
        }
    }
}
