//! The commands, as they are typed.

mod check;
mod completions;
mod convert;
mod decompile;
mod diff;
mod info;
mod onnx;
mod run;
mod saved_values;
mod serve;
mod show;
mod support;
