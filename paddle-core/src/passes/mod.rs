//! Passes: program → program, one file each.

pub mod accumulate;
pub mod backward;
pub mod clip;
pub mod combine;
pub mod compose;
pub mod distribute;
pub mod freeze;
mod gradient_paths;
pub mod hoist;
pub mod link;
mod loop_edits;
pub mod map;
pub mod optimize;
mod pipeline;
mod scalar_input;
pub mod shard;
pub mod sink;
pub mod split;
pub mod stages;
mod switches;
pub mod test_mode;
pub mod turn;

pub use gradient_paths::{Paths, Untrained, check_trainable, cost, of_unused_parameters, trained};
pub use pipeline::{Pass, PassError, Pipeline, ShardedTraining};
pub use switches::{Switch, Switches, UnknownSwitch};
