//! The program, its operators, passes, plan and executor.
//!
//! What compiles models to programs needs no plan and no reading of them, and what runs programs needs no layers: so `layers`, `plan`, and all
//! of `convert` but what writes our own dialect, are features, which are there by default.
#![forbid(unsafe_code)]

pub mod convert;
#[cfg(feature = "layers")]
pub mod layers;
// What is left is the tables, as macros: editors are shown what layers there are, whatever a program is built with.
#[cfg(not(feature = "layers"))]
#[allow(dead_code, unreachable_pub, unused_imports)]
mod layers;
pub mod memory;
pub mod model_files;
pub mod ops;
pub mod passes;
#[cfg(feature = "plan")]
pub mod plan;
pub mod program;
pub mod text;
pub mod wire;
