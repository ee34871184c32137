//! Devices that compile text: kernels are written once, in a form, and printed for a device.
//!
//! * `ops` and `moves` write the kernels of groups; operators that are not there run on the CPU, which is the fallback.
//! * `wgpu/` is the backend for every card with a driver for Vulkan, Metal or DirectX 12, and `cuda/` the one for NVIDIA's.
//!
//! Elements are words of 32 bits: a truth value is one, a whole number of 64 bits is two. In double precision nothing is
//! computed; the CPU does that.

mod card;
#[cfg(feature = "cuda")]
pub mod cuda;
mod elements;
mod fold;
mod form;
mod index;
mod kernel;
mod launch;
mod moves;
mod ops;
mod random;
mod sequences;
mod sort;
mod tensor;
mod tiles;
#[cfg(feature = "wgpu")]
pub mod wgpu;

pub use self::card::{Card, CardError};
use paddle_core::ops::Op;
use paddle_core::plan::{Body, Group, Unsupported};
use paddle_core::program::DType;

use self::kernel::{Abilities, Kernel};

/// Whether cards have a kernel for the operator, on inputs and outputs of these types. The CPU runs what they lack.
pub fn supports(op: &Op, types: &[DType]) -> bool {
    ops::supports(op, types)
}

/// Writes the kernel of a group, for a device that can do this.
fn compile(group: &Group, abilities: Abilities) -> Result<Kernel, Unsupported> {
    match group.body {
        Some(Body::Move(kind)) => moves::compile(kind, group),
        Some(Body::Operator(_) | Body::Updates(_)) | None => ops::compile(group, abilities),
    }
}
