//! Models are Rust source, checked by `rustc`, compiled into a portable program.

extern crate self as paddle;

mod batch;
pub mod data;
mod element;
mod embedded;
mod error;
pub mod event;
mod infer;
#[doc(hidden)]
pub mod language;
mod model;
mod network;
mod parameters;
pub mod reader;
mod session;
pub mod train_loop;
mod trainer;
mod updater;

pub use batch::{Batch, BatchError, Cell, Column, Columns, Row, Rows, Shape};
pub use element::Element;
pub use error::Error;
pub use event::{Event, EventKind};
pub use infer::{OutputError, Outputs, infer};
pub use network::{Dynamic, Network, Spec};
pub use paddle_core as core;
pub use paddle_kernels::cpu::Cpu;
pub use paddle_macros::network;
pub use parameters::{Networks, ParameterError, Parameters};
pub use trainer::{Options, Outcome, Trainer};
pub use updater::{Sgd, Updater};

/// The attribute form of [`network!`]. Rust has one name for a macro of either form in a module, so this one is here:
/// `use paddle::attribute::network;`.
pub mod attribute {
    pub use paddle_macros::network_module as network;
}
