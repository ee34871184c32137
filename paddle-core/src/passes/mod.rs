//! Passes: program → program, one file each.

pub mod backward;
pub mod optimize;
mod pipeline;

pub use pipeline::{Pass, PassError, Pipeline};
