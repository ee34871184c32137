//! Conversion of programs to and from the wire.
//!
//! [`to_wire`] writes a [`Program`](crate::ops::Program) as a `ProgramDesc`, and [`from_ours`] reads it back. [`from_wire`] reads
//! PaddlePaddle's own programs, too. [`legalise`] writes a program that the real PaddlePaddle runs, and [`export`] its two files.
//! With the feature `read`, programs of others are read; with `convert`, they are also written. Without them, there is our dialect.
//!
//! # Our dialect
//!
//! [`to_wire`] writes a `ProgramDesc` like any other, with these conventions:
//!
//! * An operator that PaddlePaddle has is written under its name there, with its slots, its attributes and its meaning.
//! * An operator that PaddlePaddle lacks, or has with another meaning, says so (`Operation::is_ours`), and has a name
//!   that starts with `rust.`: `rust.if`, `rust.contract`. PaddlePaddle's `while` overwrites variables of outer blocks;
//!   ours does not, so it must not be mistaken for it. `gather` has such a name if its indices are no list.
//! * Attributes have such names if they are the exact form of one of PaddlePaddle's: `rust.scale` is a `FLOAT64` beside
//!   `scale`, if the number is not one of single precision; `rust.type` is a type with row space and symbolic sizes.
//! * Blocks nest by `BLOCK` attributes. The values that come into a block are written by its `feed` operators, and its
//!   results are read by its `fetch` operators, in the order of their columns. In block 0 these are the network's
//!   inputs and outputs, in other blocks loop state and results.
//! * A variable is written once. Only inputs and parameters declare exact types; the others are inferred.
//! * The first operator, `rust.program`, has the tables of symbols and row spaces; types refer to them by number. It
//!   has the number of `shards` into which batches are cut, and lists `gradients` whose order or values the operators
//!   do not tell. `rust.if` has the numbers of the row spaces that it makes.
//! * `op_role` is the role, and `op_callstack` the source place as `file:line:column`, with the layer there.
//!   `op_role_var` has pairs of a parameter and the gradient that the operator computes, and `forward_block_idx` the
//!   block that a block differentiates.
//! * The startup program has one operator per parameter, in the order of creation. `rust.chosen` means that the user
//!   chose the initialiser, `rust.untrained` that the parameter has no gradient; `rust.lr`, `rust.decay` and
//!   `rust.clip` are its options.
//!
//! # PaddlePaddle's dialect
//!
//! A variable may be written many times: each write is a new version, a value of its own. `while` and
//! `conditional_block` are raised to ours. A leading dimension of -1 is the batch `_`, any other one a size of its own.
//! An operator without a rule stays [foreign](crate::ops::Foreign); [`load`] refuses it, and lists all that it refuses.
//!
//! # ONNX's dialect
//!
//! A graph is in SSA, and nests by attributes. [`load_onnx`] reads it as it is: initialisers become parameters, and what says what
//! an operator does (a shape, axes) is looked up, be it an attribute, an initialiser or a value that is computed from shapes.
//!
//! # The rooms
//!
//! | room or file | holds |
//! | --- | --- |
//! | `dialect.rs` | the names that are ours |
//! | `types/` | types on the wire, both ways |
//! | `parameter_options.rs` | the options of parameters, both ways |
//! | `derived/` | operators on the wire as they are defined, both ways |
//! | `to_wire/` | programs → wire |
//! | `to_wire/operators.rs` | operators that are written otherwise than they are defined; beside it, a file for each family |
//! | `draft/` | a program while it is read, whatever the dialect, and what both compute with several operators |
//! | `from_onnx/` | ONNX's models → programs |
//! | `from_onnx/scope.rs` | what names mean: initialisers, inputs, results |
//! | `from_onnx/batch.rs` | which dimension is the batch |
//! | `from_onnx/node.rs` | one operator: its inputs and attributes |
//! | `from_onnx/rules/` | operators, a file for each family |
//! | `error.rs` | all faults of what is read or written |
//! | `blocks.rs` | the checks of blocks before they are read |
//! | `sites.rs` | roles and source places |
//! | `budget.rs` | the memory that reading may take |
//! | `ours/` | our dialect → programs |
//! | `from_wire/` | PaddlePaddle's dialect → programs |
//! | `from_pir/` | PaddlePaddle's `model.json` → PaddlePaddle's dialect |
//! | `from_wire/narrow_types.rs` | element types that are narrower than ours |
//! | `from_wire/variables.rs` | parameters and inputs, and the types that variables declare |
//! | `from_wire/unsupported.rs` | reading on behind faults, so that all of them are listed |
//! | `from_wire/batch_axis.rs` | operators that are tried again where the batch is not in front |
//! | `from_wire/versions.rs` | variables that are written many times |
//! | `from_wire/operator.rs` | the helpers of rules |
//! | `from_wire/known_values.rs` | attributes that are inputs whose values are known |
//! | `from_wire/rules/` | operators that are read otherwise than they are defined, a file for each family |
//! | `from_wire/parameter_values.rs` | the values of parameters |
//! | `from_wire/saved_values.rs` | what `paddle.save` wrote |
//! | `recorded/` | trainings that PaddlePaddle recorded: what is updated how |
//! | `export/` | the two files of a model for PaddlePaddle |
//! | `export/legalise/` | programs → PaddlePaddle's own operators |
//! | `to_onnx/` | programs → models in ONNX |

mod blocks;
mod budget;
#[cfg(feature = "read")]
mod carried;
mod derived;
mod dialect;
#[cfg(feature = "read")]
mod draft;
mod error;
#[cfg(feature = "convert")]
mod export;
#[cfg(feature = "read")]
mod from_onnx;
#[cfg(feature = "read")]
mod from_pir;
#[cfg(feature = "read")]
mod from_wire;
mod ours;
mod parameter_options;
#[cfg(feature = "convert")]
mod recorded;
mod sites;
#[cfg(feature = "convert")]
mod to_onnx;
mod to_wire;
mod types;

pub use error::{ConvertError, Fault, VariableFault, WirePlace};
#[cfg(feature = "convert")]
pub use export::{Export, ExportError, LegaliseError, export, legalise, model};
#[cfg(feature = "read")]
pub use from_onnx::{OnnxModel, load_onnx, load_onnx_to_train};
#[cfg(feature = "read")]
pub use from_pir::decode_program;
#[cfg(feature = "read")]
pub use from_wire::{Unsupported, from_wire, is_known, load, load_params, load_saved, load_to_train};
pub use ours::from_ours;
#[cfg(feature = "convert")]
pub use recorded::{Recorded, load_recorded};
#[cfg(feature = "convert")]
pub use to_onnx::to_onnx;
pub use to_wire::{WireProgram, to_wire};
pub use types::element;
