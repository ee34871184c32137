//! Passes: program → program, one file each.

pub mod accumulate;
pub mod backward;
pub mod clip;
pub mod freeze;
pub mod hoist;
pub mod link;
mod loops;
pub mod optimize;
mod paths;
mod pipeline;
mod scalar_input;
pub mod shard;
pub mod sink;
pub mod split;
pub mod test_mode;

pub use paths::{Paths, Untrained, check_trainable, cost, of_unused_parameters, trained};
pub use pipeline::{Pass, PassError, Pipeline, ShardedTraining};
