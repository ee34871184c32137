//! Passes: program → program, one file each.

pub mod backward;
pub mod clip;
pub mod freeze;
pub mod link;
pub mod optimize;
mod paths;
mod pipeline;
pub mod test_mode;

pub use paths::check_trainable;
pub use pipeline::{Pass, PassError, Pipeline};
