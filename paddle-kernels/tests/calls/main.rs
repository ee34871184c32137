//! The calls in the loops of kernels, read from the instructions of this program. A loop must not leave its instruction
//! set, and must not call C's library for an element.
//!
//! A kernel has a copy for each instruction set. A function that is not inlined into a copy is compiled for the
//! portable set: there a multiply-add is a call of `fma`, and nothing becomes vector code. So a copy may only call
//! functions that do not compute and do not call mathematical functions of C's library. The few calls that `f64` needs
//! are in one place. The test reads the code of its own build: `cargo test --release` reads that of a release.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod loops;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod program;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
#[test]
#[ignore = "reads instructions of x86-64 in the files of Linux"]
fn loops_stay_in_their_instruction_set() {}
