//! The language of `paddle`'s models: source to programs and diagnostics.
//!
//! [`compile()`] compiles a text to programs of `paddle_core`, or returns [`Diagnostics`]: all mistakes, each with the id
//! of its kind and its place in the text. They are printed in the format of rustc.
//!
//! ```
//! use paddle_language::{Options, compile};
//!
//! let net = compile("|x: Tensor<f32, _, 2>| fc(x, 3, act = relu)", &Options::new())?.only()?;
//! assert_eq!(net.program.parameters().count(), 2);
//!
//! let wrong = compile("|x: Tensor<f32, _, 2>| fc(y, 3)", &Options::new()).unwrap_err();
//! assert_eq!((wrong[0].id, wrong[0].place.start.column), ("unknown-variable", 27));
//! # Ok::<(), paddle_language::Diagnostics>(())
//! ```
//!
//! | module | |
//! | --- | --- |
//! | `source` | texts → tokens, and the imports between texts |
//! | `parse` | tokens → tree (`ast`); reports what the language does not have |
//! | `configure`, `predicates` | `#[cfg(..)]` |
//! | `import`, `export`, `library` | sub-networks of other sources, and the layers of the library |
//! | `include` | models in files |
//! | `resolve`, `parameter_names` | names, arguments, recursion; names of parameters |
//! | `lower` | tree → program, with all checks of types; sub-networks are inlined |
//! | `sharing`, `training` | agreement on shared parameters, and trainability |
//! | `analysis`, `compile` | all phases in order: for tokens, for texts |
//! | `found` | the networks of a Rust file |
//! | `decompile` | the way back: a program as source |
//! | `report`, `messages`, `diagnostic` | the sink of reports, the catalogue of messages, reports as data |
//!
//! The hidden modules, such as the tree, are for the crate of the macros. They promise nothing.

mod analysis;
#[doc(hidden)]
pub mod ast;
mod compile;
#[doc(hidden)]
pub mod configure;
#[cfg(feature = "decompile")]
mod decompile;
mod diagnostic;
#[doc(hidden)]
pub mod export;
#[doc(hidden)]
pub mod files;
mod found;
mod habits;
#[doc(hidden)]
pub mod import;
#[cfg(feature = "include")]
mod include;
mod library;
#[doc(hidden)]
pub mod lower;
#[doc(hidden)]
pub mod messages;
mod options;
#[doc(hidden)]
pub mod parameter_names;
#[doc(hidden)]
pub mod parse;
mod predicates;
#[doc(hidden)]
pub mod report;
mod resolve;
#[doc(hidden)]
pub mod sharing;
mod source;
#[doc(hidden)]
pub mod training;
mod values;

#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use analysis::{Analysis, analyse};
pub use compile::{Compiled, Topology, compile};
#[cfg(feature = "decompile")]
pub use decompile::{Lack, NotWritable, decompile};
pub use diagnostic::{Diagnostic, Diagnostics, Place, Position, Severity};
pub use found::{Found, networks_of};
pub use options::Options;
