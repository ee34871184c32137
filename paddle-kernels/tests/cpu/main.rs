//! The CPU backend: the same bits on any number of threads, tiles of every kind, and refused launches.

mod chains;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/device.rs"]
mod device;
mod functions;
mod launch;
mod machine;
mod rows;
mod sums;
mod tiles;
