//! The backends: `cpu` and `reference`.

pub mod cpu;
pub mod memory;
pub mod team;
