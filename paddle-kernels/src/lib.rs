//! The backends: `cpu`, `reference`, and behind features the devices that compile text, `gpu`.

pub mod cpu;
pub mod custom;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub mod device;
pub mod differences;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub mod gpu;
pub mod memory;
mod messages;
mod queue;
mod random;
pub mod reference;
pub mod team;

pub use cpu::Cpu;
