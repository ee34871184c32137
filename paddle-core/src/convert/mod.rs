//! Between programs and the wire.
//!
//! [`to_wire`] writes a [`Program`](crate::ops::Program) as a `ProgramDesc`, and [`from_wire`] reads it back; it
//! reads PaddlePaddle's own programs by the same rules. [`legalise`] writes one that the real PaddlePaddle runs, and
//! [`export`] its two files. Without the feature `convert` there is [`to_wire`] alone.
//!
//! # Our dialect
//!
//! What [`to_wire`] writes is a `ProgramDesc` like any other, with these conventions:
//!
//! * An operator that PaddlePaddle has stands under its name there, with its slots, its attributes and its meaning.
//! * An operator that it lacks, or means something else by, has a name that starts with `rust.`: `rust.if`,
//!   `rust.while`, `rust.for`, `rust.loop_grad`, `rust.contract`, `rust.gather_rows`, `rust.scatter_rows`, `rust.row_numbers`, `rust.size`, `rust.expand_as_v2`, `rust.range`, and `rust.gather`, where
//!   the numbers are no list. (PaddlePaddle's `while`
//!   overwrites variables of outer blocks. Ours does not, so it must not be mistaken for it.)
//! * So do attributes that say exactly what PaddlePaddle's say roughly: `rust.scale` is a `FLOAT64` beside `scale`,
//!   where that is not a number of single precision; `rust.type` is a type with row space and symbolic sizes.
//! * Blocks nest by `BLOCK` attributes. What comes into a block is written by its `feed` operators, and what it hands
//!   out is read by its `fetch` operators, in the order of their columns: network inputs and outputs in block 0, loop
//!   state and results in the others.
//! * A variable is written once. Only inputs and parameters declare exact types; the others are inferred.
//! * The first operator, `rust.program`, has the tables of symbols and row spaces; types refer to them by number. It says
//!   into how many `shards` batches are cut, and lists `gradients` whose order or values the operators do not say.
//!   `rust.if` says which numbers the row spaces have that it makes.
//! * `op_role` is the role, `op_callstack` the source place as `file:line:column`, and the layer that stands there, `op_role_var` pairs of a
//!   parameter and the gradient that the operator computes, `forward_block_idx` the block that a block differentiates.
//! * The startup program has one operator per parameter, in the order of creation. `rust.chosen` says that the user
//!   asked for the initialiser, `rust.untrained` that the parameter has no gradient; `rust.lr`, `rust.decay` and
//!   `rust.clip` are its options.
//!
//! # PaddlePaddle's dialect
//!
//! A variable may be written many times: each write is a new version, a value of its own. `while` and `conditional_block` are raised to ours.
//! A leading dimension of -1 is the batch `_`, any other one a size of its own. What no rule knows stays
//! [foreign](crate::ops::Foreign).
//!
//! | file | holds |
//! | --- | --- |
//! | `names.rs` | the names that are ours |
//! | `types/` | types on the wire, both ways |
//! | `describe/` | operators → wire: one row per operator |
//! | `to_wire.rs` | programs → wire |
//! | `operators.rs` | wire → operators: one rule per operator |
//! | `constants.rs` | the same, for operators without inputs |
//! | `norms.rs` | the same, for normalisations and norms |
//! | `products.rs` | the same, for products of matrices |
//! | `by_values.rs` | the same, for operators whose numbers come from values |
//! | `likes.rs` | the same, for constants in the shape of other values |
//! | `views.rs` | the same, for operators that give elements another shape |
//! | `moves.rs` | the same, for operators that move elements |
//! | `places.rs` | the same, for operators that find elements |
//! | `images.rs` | the same, for operators on images |
//! | `foreign.rs` | the same, for operators that are not known |
//! | `known.rs` | what is known of values while a program is read |
//! | `reading.rs` | what the rules are written with |
//! | `control.rs` | wire → operators that own blocks; PaddlePaddle's `while` raised to ours |
//! | `branches.rs` | the same, for PaddlePaddle's branches, raised to ours |
//! | `versions.rs` | variables that are written many times |
//! | `blocks.rs` | what is checked of blocks before they are read |
//! | `from_wire.rs` | wire → programs |
//! | `options.rs` | what is asked of parameters, both ways |
//! | `params.rs` | the values of parameters |
//! | `legalise/` | programs → PaddlePaddle's own operators |
//! | `export.rs` | the two files of a model for PaddlePaddle |
//! | `error.rs` | everything that can be wrong |

#[cfg(feature = "convert")]
mod blocks;
#[cfg(feature = "convert")]
mod branches;
#[cfg(feature = "convert")]
mod by_values;
#[cfg(feature = "convert")]
mod classes;
#[cfg(feature = "convert")]
mod constants;
#[cfg(feature = "convert")]
mod control;
mod describe;
#[cfg(feature = "convert")]
mod diagonals;
#[cfg(feature = "convert")]
mod elementwise;
#[cfg(feature = "convert")]
mod error;
#[cfg(feature = "convert")]
mod export;
#[cfg(feature = "convert")]
mod foreign;
#[cfg(feature = "convert")]
mod from_wire;
#[cfg(feature = "convert")]
mod images;
#[cfg(feature = "convert")]
mod interpolate;
#[cfg(feature = "convert")]
mod known;
#[cfg(feature = "convert")]
mod legalise;
#[cfg(feature = "convert")]
mod likes;
#[cfg(feature = "convert")]
mod made_sequences;
#[cfg(feature = "convert")]
mod moves;
mod names;
#[cfg(feature = "convert")]
mod norms;
#[cfg(feature = "convert")]
mod operators;
mod options;
#[cfg(feature = "convert")]
mod params;
#[cfg(feature = "convert")]
mod places;
#[cfg(feature = "convert")]
mod products;
#[cfg(feature = "convert")]
mod random;
#[cfg(feature = "convert")]
mod reading;
#[cfg(feature = "convert")]
mod reductions;
#[cfg(feature = "convert")]
mod sequences;
#[cfg(feature = "convert")]
mod shapes;
mod to_wire;
mod types;
#[cfg(feature = "convert")]
mod update;
#[cfg(feature = "convert")]
mod versions;
#[cfg(feature = "convert")]
mod views;

#[cfg(feature = "convert")]
pub use error::{ConvertError, Fault, VariableFault, WirePlace};
#[cfg(feature = "convert")]
pub use export::{Export, ExportError, export};
#[cfg(feature = "convert")]
pub use from_wire::from_wire;
#[cfg(feature = "convert")]
pub use legalise::{LegaliseError, legalise};
#[cfg(feature = "convert")]
pub use operators::is_known;
#[cfg(feature = "convert")]
pub use params::load_params;
pub use to_wire::{WireProgram, to_wire};
pub use types::element;
