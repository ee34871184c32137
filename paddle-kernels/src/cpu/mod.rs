//! The CPU backend.

pub mod isa;
mod math;
mod matmul;
mod vector;
