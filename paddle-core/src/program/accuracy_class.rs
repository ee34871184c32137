//! The accuracy class of an operator: an upper bound on the error of its results.

use super::DType;

/// An upper bound on the error of an operator's floating-point results, against exact arithmetic on the same inputs.
/// Each variant carries the reason why the bound is no smaller. Results of other types have to be equal.
///
/// An operator chooses its class; [`allows`](Self::allows) is the only place that turns a class into a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccuracyClass {
    /// The exact result, rounded once. Only one value is right.
    Exact(&'static str),
    /// A few roundings, none of which is magnified: 4 units in the last place.
    Rounding(&'static str),
    /// A sum of `n` terms that may cancel: `(8 + √n) · u · Σ|terms|`, where `u` is half a unit in the last place of 1.
    /// Where `u · Σ|terms|` is below the smallest positive number of the type, that number takes its place.
    Accumulating(&'static str),
    /// Such a sum, which may be computed from sums of its factors instead, as convolutions by Winograd's tiles are. These are
    /// larger than the terms, so the bound is `(80 + √n) · u · Σ|terms|` in single precision. In double precision it is that of
    /// [`Accumulating`](Self::Accumulating).
    Transformed(&'static str),
}

/// The terms of a sum, as far as the error bound depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// The number of terms.
    pub count: usize,
    /// Σ|terms|.
    pub size: f64,
}

impl AccuracyClass {
    /// The class of an operator that moves elements and computes nothing.
    pub const MOVED: AccuracyClass = AccuracyClass::Exact("elements are moved, not changed");

    /// The name of the class.
    pub fn name(self) -> &'static str {
        match self {
            AccuracyClass::Exact(_) => "exact",
            AccuracyClass::Rounding(_) => "rounding",
            AccuracyClass::Accumulating(_) => "accumulating",
            AccuracyClass::Transformed(_) => "transformed",
        }
    }

    /// The reason why the bound is no smaller.
    pub fn reason(self) -> &'static str {
        match self {
            AccuracyClass::Exact(reason)
            | AccuracyClass::Rounding(reason)
            | AccuracyClass::Accumulating(reason)
            | AccuracyClass::Transformed(reason) => reason,
        }
    }

    /// The largest error that a result of type `dtype` may have. `exact` is the exact result; in the class
    /// [`Exact`](Self::Exact) it is rounded to `dtype`.
    pub fn allows(self, dtype: DType, exact: f64, terms: Terms) -> f64 {
        match self {
            AccuracyClass::Exact(_) => 0.0,
            AccuracyClass::Rounding(_) => 4.0 * last_place(dtype, exact),
            AccuracyClass::Transformed(_) if dtype == DType::F32 => of_sum(80.0, dtype, terms),
            AccuracyClass::Accumulating(_) | AccuracyClass::Transformed(_) => of_sum(8.0, dtype, terms),
        }
    }

    /// Whether the bound depends on the terms of a sum.
    pub fn depends_on_terms(self) -> bool {
        matches!(self, AccuracyClass::Accumulating(_) | AccuracyClass::Transformed(_))
    }
}

/// `(units + √n) · u · Σ|terms|`.
fn of_sum(units: f64, dtype: DType, terms: Terms) -> f64 {
    let unit = last_place(dtype, 1.0) / 2.0;
    (units + (terms.count as f64).sqrt()) * (unit * terms.size).max(last_place(dtype, 0.0))
}

/// The bits of an `f64` mantissa, without the hidden one.
const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;

/// One unit in the last place of the number of type `dtype` that is nearest to `value`.
fn last_place(dtype: DType, value: f64) -> f64 {
    let (of_one, smallest) = match dtype {
        DType::F32 => (f64::from(f32::EPSILON), f64::from(f32::MIN_POSITIVE)),
        _ => (f64::EPSILON, f64::MIN_POSITIVE),
    };
    // Clearing the mantissa leaves a power of two. Subnormal numbers share the last place of the smallest normal
    // number.
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
        assert_eq!(allows(AccuracyClass::Transformed("")), 246.0);
        let [sum, transformed] = [AccuracyClass::Accumulating(""), AccuracyClass::Transformed("")];
        assert_eq!(transformed.allows(DType::F64, 1.5, terms), sum.allows(DType::F64, 1.5, terms));
    }
}
