//! Element-wise operators. Each is one row of a table: name, formula, derivative; the loops of every backend, the
//! gradient and the documentation come from the row.

mod binary;
mod functions;
mod real;
mod relation;
mod unary;

/// The classes of rows.
mod class {
    use crate::ops::AccuracyClass;

    pub(super) const EXACT: AccuracyClass = AccuracyClass::Exact("one rounding");
    pub(super) const ROUNDING: AccuracyClass = AccuracyClass::Rounding("roundings that nothing magnifies");
    pub(super) const ACCUMULATING: AccuracyClass =
        AccuracyClass::Accumulating("a sum whose terms may cancel");
}

pub use binary::{Binary, BinaryKind};
pub use real::Real;
pub use relation::{Compare, CompareKind, Logical, LogicalKind, Not};
pub use unary::{Coefficients, Unary, UnaryGrad, UnaryKind};
