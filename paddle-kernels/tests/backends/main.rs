//! The backends against each other: operators one by one and fused, and the movement of rows.
//!
//! Everything is written over `Backend`. A new backend is one module in `on_every_backend`.

mod draw;
mod fused;
mod host;
mod memory;
mod reference;
mod rows;
mod run;
mod samples;
mod tolerance;

/// Makes a test of each function, for each backend.
macro_rules! on_every_backend {
    ($($check:ident),* $(,)?) => {
        mod single {
            $(#[test]
            fn $check() {
                super::$check(&paddle_kernels::reference::Reference::single());
            })*
        }

        mod double {
            $(#[test]
            fn $check() {
                super::$check(&paddle_kernels::reference::Reference::double());
            })*
        }
    };
}
pub(crate) use on_every_backend;
