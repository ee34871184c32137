//! The program, its operators, passes, plan and executor.
#![forbid(unsafe_code)]

pub mod convert;
pub mod layers;
pub mod memory;
pub mod ops;
pub mod passes;
pub mod plan;
pub mod program;
pub mod text;
pub mod wire;
