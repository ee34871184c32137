//! Models are Rust source, checked by `rustc`, compiled into a portable program.
