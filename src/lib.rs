//! Models are Rust source, checked by `rustc`, compiled into a portable program.
//!
//! ```
//! use paddle::reader::{DataSet, Reader};
//! use paddle::{Ended, Options, Parameters, Sgd, Trainer, infer, network};
//!
//! let cost = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| {
//!     let line = fc(x, 1);
//!     mean(square(line - y))
//! });
//! let price = network!(|x: Tensor<f32, _, 2>| {
//!     let line = fc(x, 1);
//!     line
//! });
//!
//! // One set of parameters for both: `line.w` and `line.b`.
//! let mut parameters = Parameters::create((&cost, &price))?;
//! let rows = [cost.row([0.0, 1.0], 3.0), cost.row([1.0, 0.0], 2.0), cost.row([1.0, 1.0], 4.0)];
//! let reader = rows.passes(500).batch(3);
//! let mut trainer = Trainer::new(Sgd::new(0.5));
//! let ended = trainer.train(&cost, &mut parameters, reader, Options::default(), |event| {
//!     if event.cost().is_some_and(|cost| cost < 1e-9) {
//!         event.stop();
//!     }
//!     Ok(())
//! })?;
//! assert_eq!(ended, Ended::Stopped);
//!
//! let outputs = infer(&price, &parameters, [[2.0, 2.0]])?;
//! assert!((outputs.at::<f32>(0)?[[0, 0]] - 7.0).abs() < 1e-3);
//! # Ok::<(), paddle::Error>(())
//! ```
//!
//! | to | there is |
//! | --- | --- |
//! | write a network | [`network!`], [`attribute::network`], [`network::module`]; [`guide`] has the language and its layers |
//! | take one from a file of PaddlePaddle's or of ONNX, as the crate is compiled | `include_model!`, behind the feature `include` |
//! | compile one at run time | `language`, behind the feature of that name |
//! | feed it | [`reader`], [`Batch`], [`Row`]; [`data`] has data sets |
//! | train it | [`Parameters`], [`Trainer`], [`updater`], [`Clip`], [`Decay`], [`Event`] |
//! | give it an operator of your own | [`operator`] |
//! | keep it | [`files`], [`Network::save`]; [`Trainer::resume`], [`Options::checkpoint`] and [`checkpoint`] for the training |
//! | measure it | [`test`](test()), [`metrics`], [`infer_each`] |
//! | run it | [`infer`]; [`Network::load`] for those of PaddlePaddle, [`Recorded`] for trainings of its |
//! | answer many callers with it | [`batcher`]; `service`, behind the feature of that name |
//! | test it | [`testing`] |
//! | look into it | [`summary()`], [`Network::program`], [`RunStats`]; [`core`] has the levels below |
//! | see where time and memory go | [`Trainer::profile`], [`profile::infer`] |
//! | draw it | [`plot`]; [`Options::curve`]; in a notebook, [`notebook`] |
//!
//! | feature, on by default | what is there with it |
//! | --- | --- |
//! | `data` | [`data`]: files of data and how rows are prepared; data sets, some of them embedded |
//! | `plot` | [`plot`], [`notebook`], [`Options::curve`] |
//! | `terminal` | the bar of [`Options::progress`], which is lines without it; [`Options::interruptible`] |
//!
//! `images` is off by default: `data::ImageFolder` reads folders of images. So is `parquet`: `data::Parquet` reads files of columns. So is `language`: `paddle::language` compiles sources at run time. So is `include`: `include_model!` makes networks of models in files. So is `service`: `paddle::service` answers over HTTP. With `default-features = false` the runtime alone is left, which compiles for `wasm32-unknown-unknown`, too.

#![warn(clippy::missing_errors_doc)]

extern crate self as paddle;

mod batch;
pub mod batcher;
pub mod best;
pub mod checkpoint;
#[cfg(feature = "cluster")]
pub mod cluster;
#[doc(hidden)]
pub mod columns;
#[doc(hidden)]
pub mod const_text;
#[cfg(feature = "data")]
pub mod data;
mod device;
mod element;
mod error;
mod evaluate;
pub mod event;
pub mod files;
mod first_values;
mod frozen;
#[doc(hidden)]
pub mod ghost;
pub mod guide;
#[cfg(feature = "include")]
mod include;
mod infer;
#[doc(hidden)]
pub mod instances;
mod interrupt;
#[cfg(feature = "language")]
pub mod language;
#[cfg(feature = "models")]
mod load;
pub mod metrics;
mod model;
pub mod network;
#[cfg(feature = "plot")]
pub mod notebook;
pub mod operator;
mod options;
mod outputs;
mod parameter_name;
mod parameter_values;
mod parameters;
#[cfg(feature = "plot")]
pub mod plot;
mod position;
pub mod profile;
mod progress;
mod random;
pub mod reader;
#[cfg(feature = "models")]
mod recorded;
mod row_sums;
#[cfg(feature = "models")]
mod save;
#[cfg(feature = "service")]
pub mod service;
mod session;
mod setting;
pub mod sharing;
mod stored;
mod summary;
pub mod testing;
pub mod train_loop;
mod trainer;
pub mod updater;
#[cfg(not(feature = "models"))]
mod without_models;

pub use batch::{Batch, BatchError, Cell, Column, Columns, Row, Rows, Shape};
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use device::cards;
pub use device::{Device, DeviceError, device, device_of};
pub use element::Element;
pub use error::{BatchFailed, Error};
pub use evaluate::{Tested, infer_each, test};
pub use event::{Event, EventKind};
pub use files::{FileError, Load};
pub use infer::{InferOptions, infer, infer_with};
pub use interrupt::InterruptError;
#[cfg(feature = "models")]
pub use load::{load_inference_model, load_onnx};
#[doc(hidden)]
pub use network::Training;
pub use network::{Dynamic, Network, Spec, Trainable, TrainableInPart};
pub use options::{NoShards, Options};
pub use outputs::{OutputError, Outputs};
pub use paddle_core as core;
pub use paddle_core::passes::clip::Clip;
pub use paddle_core::passes::optimize::Decay;
pub use paddle_core::plan::{PlanError, Precision, PrecisionError, ProductStats, RunStats};
pub use paddle_core::program::Role;
pub use paddle_kernels::cpu::Cpu;
#[cfg(feature = "cuda")]
pub use paddle_kernels::gpu::cuda::Cuda;
#[cfg(feature = "wgpu")]
pub use paddle_kernels::gpu::wgpu::Wgpu;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use paddle_kernels::gpu::{Card, CardError};
/// Compiles a model to a [`Network`], which a [`Trainer`] trains and [`infer`] runs. The guides: [the
/// language](guide::language), [its layers](guide::layers).
pub use paddle_macros::network;
#[doc(hidden)]
pub use paddle_macros::{__import, __import_items};
pub use parameter_name::{ParameterGroup, ParameterName};
pub use parameters::{Networks, ParameterError, Parameters};
pub use profile::Profile;
pub use progress::Watch;
#[cfg(feature = "models")]
pub use recorded::Recorded;
pub use setting::SettingError;
pub use summary::{Summary, summary, summary_with};
pub use train_loop::Ended;
pub use trainer::{CostNotFinite, Outcome, RateSearch, Trainer};
pub use updater::{
    AdaDelta, Adagrad, Adam, AdamW, Adamax, DecayedAdagrad, Ftrl, Lamb, Momentum, RmsProp, Schedule, Sgd,
    Updater,
};
#[cfg(not(feature = "models"))]
#[doc(hidden)]
pub use without_models::{FeatureModels, Recorded, load_inference_model, load_onnx};

/// The attribute form of [`network!`]. A module of Rust can have only one macro of a name, so this one has a module of
/// its own: `use paddle::attribute::network;`. A file that uses both forms writes
/// [`#[network::module]`](network::module) instead.
pub mod attribute {
    pub use paddle_macros::network_module as network;
}

/// The examples of the README, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the documentation of `network!`, whose crate cannot use this one.
#[cfg(doctest)]
#[doc = include_str!("../paddle-macros/src/network.md")]
#[doc = include_str!("../paddle-macros/src/names_and_sizes.md")]
struct NetworkMacro;
