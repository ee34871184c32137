//! Passes: program → program, one file each.

pub mod backward;
pub mod optimize;
