//! The language of `paddle`'s models: source to programs and diagnostics.
//!
//! [`compile()`] takes a text. What it gives are programs of `paddle_core`, or [`Diagnostics`]: all mistakes, each with a word for its kind
//! and its place in the text, which are printed as rustc prints them.
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
//! | `source` | texts → tokens, and the texts that they import from |
//! | `parse` | tokens → tree (`ast`), reports what is not of the language |
//! | `configure`, `predicates` | `#[cfg(..)]` |
//! | `import`, `export`, `library` | sub-networks of other sources, and those of `paddle` itself |
//! | `resolve` | names, arguments, recursion |
//! | `lower` | tree → program, with all checks of types; sub-networks are inlined |
//! | `sharing`, `training` | what networks have to agree on, and whether they can be trained |
//! | `analysis` | all of that, of tokens |
//! | `report`, `messages`, `diagnostic` | the sink of errors, the catalogue of messages, what is said of them |
//!
//! What is hidden in this documentation is the tree itself, for the crate that expands to it, and promises nothing.

mod analysis;
#[doc(hidden)]
pub mod ast;
mod compile;
#[doc(hidden)]
pub mod configure;
mod diagnostic;
#[doc(hidden)]
pub mod export;
#[doc(hidden)]
pub mod files;
mod habits;
#[doc(hidden)]
pub mod import;
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
pub use diagnostic::{Diagnostic, Diagnostics, Place, Position, Severity};
pub use options::Options;
