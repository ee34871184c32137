//! The backends: `cpu` and `reference`.

pub mod cpu;
pub mod custom;
pub mod differences;
pub mod memory;
mod messages;
mod queue;
mod random;
pub mod reference;
pub mod team;

pub use cpu::Cpu;
