//! Settings that are out of range: numbers of updaters, learning rates, bounds.

use std::error::Error;
use std::fmt;

/// A setting that is out of range.
///
/// ```
/// use paddle::{Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(x, 1))));
/// let mut trainer = Trainer::new(Sgd::new(f64::NAN));
/// let error = trainer.step(&net, &mut Parameters::create(&net)?, [1.0]).unwrap_err();
/// assert_eq!(error.to_string(), "the learning rate of step 0 is NaN, but has to be finite and at least 0");
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// The setting: ``"`beta1` of `Adam::betas`"``.
    pub setting: String,
    /// The given value.
    pub found: String,
    /// The range, in words.
    pub expected: String,
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SettingError { setting, found, expected } = self;
        write!(f, "{setting} is {found}, but has to be {expected}")
    }
}

impl Error for SettingError {}

/// The range of a number. NaN, infinities, and numbers too large for single precision are in no range.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Range {
    /// At least 0, and below 1.
    DecayRate,
    /// From 0 to 1.
    Share,
    Positive,
    NotNegative,
    NotPositive,
}

impl Range {
    pub(crate) fn check(self, setting: impl fmt::Display, found: f64) -> Result<(), SettingError> {
        let fits = match self {
            Range::DecayRate => (0.0..1.0).contains(&found),
            Range::Share => (0.0..=1.0).contains(&found),
            Range::Positive => found > 0.0,
            Range::NotNegative => found >= 0.0,
            Range::NotPositive => found <= 0.0,
        };
        if fits && found.abs() <= f32::MAX.into() {
            return Ok(());
        }
        let expected = match self {
            Range::DecayRate => "at least 0 and less than 1",
            Range::Share => "at least 0 and at most 1",
            Range::Positive => "finite and larger than 0",
            Range::NotNegative => "finite and at least 0",
            Range::NotPositive => "finite and at most 0",
        };
        // Very large and very small numbers in scientific notation: 1e39 rather than 40 digits.
        let found = if found == 0.0 || (1e-5..1e7).contains(&found.abs()) {
            found.to_string()
        } else {
            format!("{found:e}")
        };
        Err(SettingError { setting: setting.to_string(), found, expected: expected.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_their_range_or_named() {
        for range in [Range::DecayRate, Range::Share, Range::Positive, Range::NotNegative, Range::NotPositive]
        {
            for nowhere in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e39, -1e39] {
                assert!(range.check("it", nowhere).is_err(), "{range:?} {nowhere}");
            }
        }
        for (range, inside, outside) in [
            (Range::DecayRate, &[0.0, 0.999][..], &[-0.1, 1.0][..]),
            (Range::Share, &[0.0, 1.0], &[-0.1, 1.1]),
            (Range::Positive, &[1e-30, 1e30], &[0.0, -1.0]),
            (Range::NotNegative, &[0.0, 5.0], &[-1e-9]),
            (Range::NotPositive, &[0.0, -0.5], &[1e-9]),
        ] {
            assert!(inside.iter().all(|&number| range.check("it", number).is_ok()), "{range:?}");
            assert!(outside.iter().all(|&number| range.check("it", number).is_err()), "{range:?}");
        }
        let text = |found| Range::Positive.check("`epsilon`", found).unwrap_err().to_string();
        assert_eq!(text(-0.25), "`epsilon` is -0.25, but has to be finite and larger than 0");
        assert_eq!(text(f64::NAN), "`epsilon` is NaN, but has to be finite and larger than 0");
        assert_eq!(text(1e39), "`epsilon` is 1e39, but has to be finite and larger than 0");
    }
}
