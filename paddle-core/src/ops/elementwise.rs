//! Element-wise operators. Each is one row of a table: name, formula, derivative; the loops of every backend, the
//! gradient and the documentation come from the row.

mod binary;
mod real;
mod relation;
mod unary;

pub use binary::{Binary, BinaryKind};
pub use real::Real;
pub use relation::{Compare, CompareKind, Logical, LogicalKind, Not};
pub use unary::{Coefficients, Unary, UnaryGrad, UnaryKind};
