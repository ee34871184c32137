//! Forms: what an operator computes, where passes do something with it.

use crate::ops::Op;
use crate::program::{Type, VarId};

/// What an operator computes, where passes do something with it.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// The first output is nothing but a sum of products: a matrix product.
    Contraction(Contraction),
    /// The only output is a matrix of zeros to which rows are added in order.
    SumOfRows(SumOfRows),
    /// The only output is what a linear operator gives for the only input, and a constant added to it.
    Affine(Op, f64),
    /// The only output is the inputs one after the other along this axis, that of the rows counted as 0.
    Concatenation(usize),
    /// The first output is the quotient of these two values. Means over batches are to add up each of them.
    Quotient([VarId; 2]),
}

/// A matrix that is a sum of rows: the sparse form of a gradient. Input `rows` has the rows, input `ids` their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumOfRows {
    /// The input with the numbers of the rows.
    pub ids: usize,
    /// The input with the rows.
    pub rows: usize,
    /// The number of the row that nothing is added to; -1 for none.
    pub padding_idx: i64,
}

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
    pub(in crate::ops) fn matrix(input: usize, ty: &Type, last: bool) -> Self {
        let behind = if last || ty.rank() == 1 { 1 } else { 2 };
        Factor { input, axes: ty.rank().checked_sub(behind).into_iter().collect() }
    }

    /// The input, summed over all axes but the last.
    pub(in crate::ops) fn all_but_last(input: usize, ty: &Type) -> Self {
        Factor { input, axes: (0..ty.rank().saturating_sub(1)).collect() }
    }
}
