//! Element-wise operators. Each is a row of a table: name, formula, derivative. The loops of every backend, the
//! gradient and the documentation come from the row.

// The macros of this module are used by those below it.
#[macro_use]
mod coefficients;

mod binary;
mod functions;
pub(super) mod gelu;
mod loss;
mod losses;
mod predicate;
mod real;
mod relation;
mod select;
mod special;
mod unary;

/// The accuracy classes that rows name.
mod class {
    use crate::ops::AccuracyClass;

    pub(super) const EXACT: AccuracyClass = AccuracyClass::Exact("one rounding");
    pub(super) const ROUNDING: AccuracyClass = AccuracyClass::Rounding("roundings that nothing magnifies");
    pub(super) const ACCUMULATING: AccuracyClass =
        AccuracyClass::Accumulating("a sum whose terms may cancel");
}

pub use binary::{Binary, BinaryKind};
pub use coefficients::Coefficients;
pub use loss::{Loss, LossGrad, LossKind};
pub use predicate::{Predicate, PredicateKind};
pub use real::Real;
pub use relation::{Compare, CompareKind, Logical, LogicalKind, Not};
pub use select::Select;
pub use unary::{Unary, UnaryGrad, UnaryKind};
