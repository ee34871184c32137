//! The commands, as they are typed.

mod info;
mod run;
mod show;
mod support;
