//! Tests of the front end without rustc.

mod cases;
mod programs;
