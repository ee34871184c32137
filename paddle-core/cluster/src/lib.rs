//! The roles of a training cluster as state machines.
//!
//! A [`Master`] runs the steps of the user's loop, [`ParameterServer`]s hold and update the parameters, and
//! [`Trainer`]s compute gradients. Each is a state machine without a clock, without input and output: it takes an
//! [`Event`] and the time, and gives [`Effect`]s. The same events give the same effects. So one program runs the
//! machines in processes that talk over a network, and another one, the simulator, runs a thousand of them in one
//! thread with every fault that a network and its computers have.
//!
//! - [`tree`]: in which order gradients are summed, so that the bits do not depend on who computed what
//! - [`message`]: what machines send each other
//! - [`machine`]: events and effects
//! - [`timing`]: leases, deadlines
//!
//! Nothing relies on messages arriving, on their order, or on their arriving once. A machine that was replaced is
//! refused by its incarnation, and what belongs to a state that the servers have left by its epoch.
#![forbid(unsafe_code)]

mod log;
pub mod machine;
mod master;
mod member;
pub mod message;
mod planted;
mod pull;
mod retry;
mod server;
#[cfg(any(test, feature = "simulator"))]
pub mod simulator;
pub mod timing;
mod trainer;
pub mod tree;

pub use machine::{Effect, Event};
pub use master::{Master, Mode, Settings};
pub use member::Identity;
pub use server::{MOST_STEPS, ParameterServer};
pub use timing::Timing;
pub use trainer::Trainer;
