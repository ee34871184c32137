//! The program, its operators, passes, plan and executor.
#![forbid(unsafe_code)]

pub mod wire;
