//! How a run computes: the precision of its products, and which numbers it may compute.

use std::fmt;

use super::Numbers;

/// The precision of sums of products of `f32` values: of the operators whose effects say
/// [`products`](crate::program::Effects::products). These are products of matrices, which their gradients
/// are, too, and convolutions with their gradients; attention over pairs of tokens, and all else compute as the program says.
///
/// It is a matter of the plan: programs, parameters, states and all values in memory stay what they are. Operators of
/// other types, `f64` too, compute as the program says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Factors are taken as they are.
    #[default]
    F32,
    /// Factors are rounded to bf16, which has the exponents of `f32` and 8 significant bits: to the nearest, ties to even;
    /// NaN stays NaN. Products of such factors are added up in `f32`. Factors and results below the smallest normal
    /// `f32`, 1.2e-38, may become zero.
    Bf16,
}

impl Precision {
    /// The name in plans and messages.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Bf16 => "bf16",
        }
    }
}

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
