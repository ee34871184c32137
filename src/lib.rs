//! Models are Rust source, checked by `rustc`, compiled into a portable program.

pub mod data;
pub mod event;
pub mod reader;
pub mod train_loop;
