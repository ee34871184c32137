//! Outside sizes: sizes whose values come from outside of the network.

use proc_macro2::{Ident, TokenStream};

use super::UnitId;

/// An outside size: the macro does not know its value.
#[derive(Clone, Debug)]
pub struct OutsideSize {
    /// The size's name in messages.
    pub name: String,
    pub unit: UnitId,
    pub origin: SizeOrigin,
}

/// The source of an outside size's value.
#[derive(Clone, Debug)]
pub enum SizeOrigin {
    /// A path to a `const` of Rust; rustc knows the value.
    Path(TokenStream),
    /// A const parameter; rustc knows the value when the network is instantiated.
    Generic(Ident),
    /// `const V: usize;`; the caller gives the value at run time.
    RunTime(Ident),
}
