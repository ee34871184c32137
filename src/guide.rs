//! The guides of the repository as pages of the documentation. They have no items. The links between the guides lead to
//! files of the repository; the link definitions here redirect them to these pages.

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

/// `OPERATORS.md`: the operators of programs, and how accurate they are.
///
#[doc = include_str!("../OPERATORS.md")]
pub mod operators {}
