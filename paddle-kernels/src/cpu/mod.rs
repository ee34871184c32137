//! The CPU backend.

pub mod isa;
