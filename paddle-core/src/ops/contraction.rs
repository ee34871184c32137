//! Contractions: over what an operator sums products of two of its inputs.

use crate::program::Type;

/// What the first output of an operator is a sum of: each of its elements, of products of an element of one input and an
/// element of another that stand at the same place along the axes that are summed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contraction {
    /// The two inputs. The first axis of the first one counts the rows of the product.
    pub factors: [Factor; 2],
}

/// An input that is a factor of the products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// The number of the input.
    pub input: usize,
    /// The axes that are summed over, that of the rows counted as 0: the i-th of one factor goes with the i-th of the other.
    pub axes: Vec<usize>,
}

impl Factor {
    /// The input, summed over one of the last two axes of a matrix, or the only one of a vector: the last one if `last`
    /// says so.
    pub(super) fn matrix(input: usize, ty: &Type, last: bool) -> Self {
        let behind = if last || ty.rank() == 1 { 1 } else { 2 };
        Factor { input, axes: ty.rank().checked_sub(behind).into_iter().collect() }
    }

    /// The input, summed over all axes but the last.
    pub(super) fn all_but_last(input: usize, ty: &Type) -> Self {
        Factor { input, axes: (0..ty.rank().saturating_sub(1)).collect() }
    }
}
