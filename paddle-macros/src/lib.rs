//! `network!` and `#[network]`.
