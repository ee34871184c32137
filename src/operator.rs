//! Operators of your own: declared in a network's source, computed by your kernels.
//!
//! A `pub fn` without a body in a module of networks, marked `#[operator]`, declares an operator: its types, which may
//! name sizes; its numbers, with defaults; and its gradient, a `fn`. The macro generates a type of that name, and an
//! implementation of [`Operator`] for the type provides the kernels. Networks use the operator like any layer: in the
//! same module by its name, elsewhere after a `use`. [`testing::check_operator`](crate::testing::check_operator) checks
//! an operator, and has an example.
//!
//! [`guide::language`](crate::guide::language) has the rules, under "Your own operator", and
//! `examples/fourier_features.rs` is an example.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::error;
use std::fmt;

pub use paddle_core::ops::Sample;
use paddle_core::ops::{Custom, LinkedKernel, Program};
use paddle_core::passes::link::link;
use paddle_kernels::custom::kernel;
pub use paddle_kernels::custom::{Declaration, Declared, Element, Inputs, Operator, Operators, Output};

/// The reason why operators cannot be linked to a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperatorError {
    /// Two operators have the same name.
    Clash {
        /// The name.
        name: String,
    },
    /// The program uses the operator with other types than its declaration has.
    Signature {
        /// Its name.
        name: String,
        /// The types in the program.
        found: String,
        /// The types that are declared.
        expected: String,
    },
    /// The declaration is not that of an operator.
    Declaration {
        /// Its name.
        name: String,
    },
}

impl fmt::Display for OperatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OperatorError::Clash { name } => {
                write!(
                    f,
                    "there are two operators `{name}`; give one of them another name, `#[operator(name = \"..\")]`"
                )
            }
            OperatorError::Signature { name, found, expected } => {
                write!(
                    f,
                    "the program uses the operator `{name}` as {found}, but it is declared as {expected}"
                )
            }
            OperatorError::Declaration { name } => {
                write!(f, "the declaration of `{name}` is that of no operator; let `#[operator]` write it")
            }
        }
    }
}

impl error::Error for OperatorError {}

/// Links operators to those of the same names in the program. Other operators stay as they are.
pub(crate) fn link_all(
    program: &mut Program,
    operators: impl IntoIterator<Item = &'static dyn Operator>,
) -> Result<(), OperatorError> {
    let mut known: BTreeMap<String, (TypeId, Custom)> = BTreeMap::new();
    for operator in operators {
        let name = operator.declaration().name.to_string();
        let op = operator.declaration().op();
        let mut op = op.ok_or_else(|| OperatorError::Declaration { name: name.clone() })?;
        op.kernel = kernel(operator);
        let any: &dyn Any = operator;
        let (id, _) = known.entry(name.clone()).or_insert((any.type_id(), op));
        if *id != any.type_id() {
            return Err(OperatorError::Clash { name });
        }
    }
    #[cfg(feature = "cluster")]
    known.iter().for_each(|(name, (id, operator))| crate::cluster::remember(name, *id, operator));
    link(program, &mut |custom: &Custom| -> Result<LinkedKernel, OperatorError> {
        let Some((_, declared)) = known.get(&custom.name) else { return Ok(custom.kernel.clone()) };
        let (found, expected) = (custom.signature(), declared.signature());
        if found != expected {
            return Err(OperatorError::Signature { name: custom.name.clone(), found, expected });
        }
        Ok(declared.kernel.clone())
    })
}
