//! Sizes that come from outside of a network.

use proc_macro2::{Ident, TokenStream};

use super::UnitId;

/// A size that the macro cannot evaluate.
#[derive(Clone, Debug)]
pub struct OutsideSize {
    /// What it is called in messages.
    pub name: String,
    pub unit: UnitId,
    pub origin: SizeOrigin,
}

/// What knows the value of a size from outside.
#[derive(Clone, Debug)]
pub enum SizeOrigin {
    /// rustc: a path to a `const`.
    Path(TokenStream),
    /// rustc, when the network is instantiated: a const parameter.
    Generic(Ident),
    /// The caller: `const V: usize;`.
    RunTime(Ident),
}
