//! The backends: `cpu`, `reference`, and behind features the devices that compile text, `gpu`.

pub mod cpu;
pub mod custom;
pub mod differences;
pub mod memory;
#[cfg(feature = "wgpu")]
pub mod gpu;
mod messages;
mod queue;
mod random;
pub mod reference;
pub mod team;

pub use cpu::Cpu;
