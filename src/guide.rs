//! The guides of the repository, to be read beside the reference: they have no items. Where they link to
//! each other, they say where the other is in the repository, and the pages, before that, where it is here.

/// `LANGUAGE.md`: the language of models, with an example of each thing.
///
/// [LAYERS.md]: crate::guide::layers
///
#[doc = include_str!("../LANGUAGE.md")]
pub mod language {}

/// `LAYERS.md`: every layer, with its arguments.
///
/// [LANGUAGE.md]: crate::guide::language
///
#[doc = include_str!("../LAYERS.md")]
pub mod layers {}

/// `OPERATORS.md`: what programs are made of, and how exact it is.
///
#[doc = include_str!("../OPERATORS.md")]
pub mod operators {}
