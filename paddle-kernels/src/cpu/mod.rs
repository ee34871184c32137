//! The CPU backend.

pub mod isa;
mod matmul;
mod vector;
