//! Tests of the front end without rustc.

mod cases;
mod ghost;
mod mutations;
mod naming;
mod programs;
