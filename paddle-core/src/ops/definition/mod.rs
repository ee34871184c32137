//! The parts of an operator's definition: its own description, its attributes, its gradient rule, its samples.

// The macro of this module is used by the operators.
#[macro_use]
mod attribute;

mod combination;
mod composition;
mod control_flow;
mod form;
mod gradient;
mod interface;
mod operation;
mod sample;
mod statistics;

pub use attribute::{Attribute, AttributeError, AttributeReader, AttributeValue, Attributes, Number};
pub use combination::{Before, Combination};
pub use composition::Composition;
pub use control_flow::ControlFlow;
pub use form::{Contraction, Factor, Form, SumOfRows};
pub use gradient::{Gradient, GradientError};
pub use operation::{Mode, Operation};
pub use sample::{Sample, SampleInput};
pub use statistics::Statistics;
