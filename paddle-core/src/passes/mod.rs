//! Passes: program → program, one file each.

pub mod accumulate;
pub mod backward;
pub mod clip;
mod fed;
pub mod freeze;
pub mod link;
pub mod optimize;
mod paths;
mod pipeline;
pub mod shard;
pub mod test_mode;

pub use paths::check_trainable;
pub use pipeline::{Pass, PassError, Pipeline, ShardedTraining};
