//! How a run computes: the precision of its products, and which numbers it may compute.

use std::fmt;
use std::str::FromStr;

use super::Numbers;

/// The precision of sums of products of `f32` values: of the operators whose effects say
/// [`products`](crate::program::Effects::products). These are products of matrices, which their gradients are, too, and
/// convolutions with their gradients; attention over pairs of tokens, and all else compute as the program says.
///
/// It is a matter of the plan: programs, parameters, states and all values in memory stay what they are. Operators of other
/// types, `f64` too, compute as the program says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Factors are taken as they are.
    #[default]
    F32,
    /// Factors are rounded to bf16, which has the exponents of `f32` and 8 significant bits: to the nearest, ties to even; NaN
    /// stays NaN. Products of such factors are added up in `f32`. Factors and results below the smallest normal `f32`, 1.2e-38,
    /// may become zero. A backend may take the factors of a convolution as they are, which is more
    /// accurate, where it multiplies them faster so.
    Bf16,
    /// Factors of products of matrices are sums of two numbers in bf16: the nearest one, and the one that is nearest to the
    /// rest. Three of the four products of these are added up in `f32`, all but that of the two rests. So the error of a term is
    /// about 2⁻¹⁶ of it at most, where that of `Bf16` is 2⁻⁸. Factors from 3.39e38 on become infinite, the product of an
    /// infinite one may be NaN, and factors below the smallest normal `f32`, and rests below it, may become zero. Where a
    /// backend has no instructions with which that is faster than `f32`, products are in `f32`, which is more accurate; and so
    /// are convolutions everywhere.
    Bf16x3,
}

impl Precision {
    /// All of them.
    pub const ALL: [Precision; 3] = [Precision::F32, Precision::Bf16, Precision::Bf16x3];

    /// The name in plans and messages.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Bf16 => "bf16",
            Precision::Bf16x3 => "bf16x3",
        }
    }
}

impl FromStr for Precision {
    type Err = PrecisionError;

    /// The precision of a name: `f32`, `bf16` or `bf16x3`.
    ///
    /// ```
    /// use paddle_core::plan::Precision;
    ///
    /// assert_eq!("bf16".parse(), Ok(Precision::Bf16));
    /// let error = "half".parse::<Precision>().unwrap_err();
    /// assert_eq!(error.to_string(), "`half` is no precision; name one of f32, bf16, bf16x3");
    /// ```
    fn from_str(name: &str) -> Result<Precision, PrecisionError> {
        let known = Precision::ALL.into_iter().find(|precision| precision.name() == name);
        known.ok_or_else(|| PrecisionError { name: name.to_string() })
    }
}

/// There is no precision of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrecisionError {
    /// The name.
    pub name: String,
}

impl fmt::Display for PrecisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Precision::ALL.map(Precision::name).join(", ");
        write!(f, "`{}` is no precision; name one of {known}", self.name)
    }
}

impl std::error::Error for PrecisionError {}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a run computes. The default is what the program says, without checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arithmetic {
    /// Which numbers it may compute.
    pub numbers: Numbers,
    /// The precision of products.
    pub precision: Precision,
}
