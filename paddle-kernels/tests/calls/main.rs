//! What the loops of kernels call, read from the instructions of this program: they must not leave their instruction set, and
//! must not call C's library for an element.
//!
//! A kernel has a copy for each instruction set. A function that is not inlined into a copy is compiled for the portable set:
//! there a multiply-add is a call of `fma`, and nothing becomes vector code. So a copy may call what neither computes nor
//! ends in C's functions of numbers; the few that `f64` needs are called in one place. It is the code of this build that is
//! looked at: `cargo test --release` looks at that of releases.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod loops;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod program;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
#[test]
#[ignore = "reads instructions of x86-64 in the files of Linux"]
fn loops_stay_in_their_instruction_set() {}
