//! What the targets do with what they are given. See `CONTRIBUTING.md` for how to run them.

pub mod program;
pub mod training;
