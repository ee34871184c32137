//! Forms: the few kinds of computation that passes treat specially.

use crate::ops::Op;
use crate::program::{Type, VarId};

/// A kind of computation that passes treat specially.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// The first output is a matrix product, a sum of products and nothing else.
    Contraction(Contraction),
    /// The only output is a matrix of zeros to which rows are added in order.
    SumOfRows(SumOfRows),
    /// The only output is a linear operator applied to the only input, plus a constant.
    Affine(Op, f64),
    /// The only output is the inputs one after the other along this axis. The axis of the rows counts as 0.
    Concatenation(usize),
    /// The first output is the quotient of these two values. A mean over several batches is the sum of the dividends
    /// divided by the sum of the divisors.
    Quotient([VarId; 2]),
}

/// A matrix that is a sum of rows, the sparse form of a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumOfRows {
    /// The input with the numbers of the rows.
    pub ids: usize,
    /// The input with the rows.
    pub rows: usize,
    /// The number of the row to which nothing is added; -1 for none.
    pub padding_idx: i64,
}

/// A sum of products: each element of an operator's first output is a sum over axes of the two inputs. Each term is the
/// product of an element of one input and the element of the other input at the same place along these axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contraction {
    /// The two inputs. The first axis of the first one counts the rows of the product.
    pub factors: [Factor; 2],
}

/// One input of a contraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// The number of the input.
    pub input: usize,
    /// The axes that are summed over. The axis of the rows counts as 0. The i-th axis of one factor goes with the i-th
    /// of the other.
    pub axes: Vec<usize>,
}

impl Factor {
    /// The input as a vector or matrix. A vector is summed over its only axis, and a matrix over one of its last two:
    /// with `last` over the last one.
    pub(in crate::ops) fn matrix(input: usize, ty: &Type, last: bool) -> Self {
        let behind = if last || ty.rank() == 1 { 1 } else { 2 };
        Factor { input, axes: ty.rank().checked_sub(behind).into_iter().collect() }
    }

    /// The input, summed over all axes but the last.
    pub(in crate::ops) fn all_but_last(input: usize, ty: &Type) -> Self {
        Factor { input, axes: (0..ty.rank().saturating_sub(1)).collect() }
    }
}
