//! Tests of the front end without rustc.

mod cases;
mod mutations;
mod naming;
mod programs;
