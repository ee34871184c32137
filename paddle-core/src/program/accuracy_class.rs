//! How near to the exact results the results of an operator are.

use super::DType;

/// How far an operator's floating-point results may be from the exact ones, those of its inputs computed without
/// rounding; with the reason why no nearer. The results of other types have to be equal.
///
/// An operator chooses its class; what a class allows is decided here and nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccuracyClass {
    /// The exact result, rounded once: one result is right.
    Exact(&'static str),
    /// A few roundings of which none is magnified: 4 units in the last place.
    Rounding(&'static str),
    /// A sum whose terms may cancel: `(8 + √n) · u · Σ|terms|` of `n` terms, where `u` is half a unit in the last place
    /// of 1; the smallest number stands in place of `u · Σ|terms|` where that is below it.
    Accumulating(&'static str),
}

/// What a result is the sum of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// How many.
    pub count: usize,
    /// Σ|terms|.
    pub size: f64,
}

impl AccuracyClass {
    /// Of an operator that computes nothing.
    pub const MOVED: AccuracyClass = AccuracyClass::Exact("elements are moved, not changed");

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            AccuracyClass::Exact(_) => "exact",
            AccuracyClass::Rounding(_) => "rounding",
            AccuracyClass::Accumulating(_) => "accumulating",
        }
    }

    /// Why it is no better.
    pub fn reason(self) -> &'static str {
        match self {
            AccuracyClass::Exact(reason)
            | AccuracyClass::Rounding(reason)
            | AccuracyClass::Accumulating(reason) => reason,
        }
    }

    /// How far a result of type `dtype` may be from `exact`, which is rounded to `dtype` in the class of exact ones.
    pub fn allows(self, dtype: DType, exact: f64, terms: Terms) -> f64 {
        match self {
            AccuracyClass::Exact(_) => 0.0,
            AccuracyClass::Rounding(_) => 4.0 * last_place(dtype, exact),
            AccuracyClass::Accumulating(_) => {
                let unit = last_place(dtype, 1.0) / 2.0;
                (8.0 + (terms.count as f64).sqrt()) * (unit * terms.size).max(last_place(dtype, 0.0))
            }
        }
    }
}

/// Of `f64`.
const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;

/// A unit in the last place of the number of type `dtype` that is nearest to `value`.
fn last_place(dtype: DType, value: f64) -> f64 {
    let (of_one, smallest) = match dtype {
        DType::F32 => (f64::from(f32::EPSILON), f64::from(f32::MIN_POSITIVE)),
        _ => (f64::EPSILON, f64::MIN_POSITIVE),
    };
    // The power of two: a number without its mantissa. Those that are not normal have the last place of the smallest
    // that is.
    let power = f64::from_bits(value.abs().to_bits() >> MANTISSA_BITS << MANTISSA_BITS);
    power.max(smallest) * of_one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_in_the_last_place() {
        for value in [1.0, 1.5, 2.0, 0.1, 3e38, 1.2e-38, 1e-40, f32::from_bits(1), 0.0] {
            let above = f64::from(value.next_up()) - f64::from(value);
            assert_eq!(last_place(DType::F32, value.into()), above, "{value:e}");
            assert_eq!(last_place(DType::F32, -f64::from(value)), above, "{value:e}");
        }
        for value in [1.0, 1e300, 1e-300, 0.3_f64, 1e-320] {
            assert_eq!(last_place(DType::F64, value), value.next_up() - value, "{value:e}");
        }
    }

    #[test]
    fn what_the_classes_allow() {
        let terms = Terms { count: 4, size: 3.0 };
        let allows = |class: AccuracyClass| class.allows(DType::F32, 1.5, terms) * 2f64.powi(24);
        assert_eq!(allows(AccuracyClass::Exact("")), 0.0);
        assert_eq!(allows(AccuracyClass::Rounding("")), 8.0);
        assert_eq!(allows(AccuracyClass::Accumulating("")), 30.0);
    }
}
