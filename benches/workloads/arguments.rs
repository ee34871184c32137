//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use paddle::Precision;

use crate::seconds::seconds;

/// Measures workloads, and prints a line of JSON for each.
#[derive(Parser)]
pub(crate) struct Arguments {
    /// Which workloads; all, if it is left out.
    #[arg(long = "workload", value_delimiter = ',')]
    pub(crate) workloads: Vec<String>,
    /// Inference by a model that PaddlePaddle saved, or by one in ONNX, instead of a workload: its file, or folder.
    #[arg(long, conflicts_with = "workloads")]
    pub(crate) model: Option<PathBuf>,
    /// What runs them: `cpu`, `best`, or a card by its number, as `wgpu:0`. Cards are built in by features.
    #[arg(long, default_value = "cpu")]
    pub(crate) device: String,
    /// On how many threads of the processor; a card has its own.
    #[arg(long, default_value = "1")]
    pub(crate) threads: NonZeroUsize,
    /// The rows of a batch; as many as the workload has by itself, if it is left out.
    #[arg(long)]
    pub(crate) batch: Option<NonZeroUsize>,
    /// What products are computed in: `f32`, `bf16` or `bf16x3`.
    #[arg(long, default_value_t)]
    pub(crate) precision: Precision,
    /// About how many seconds each of the runs takes of which the median counts.
    #[arg(long, default_value = "1", value_parser = seconds)]
    pub(crate) seconds: Duration,
    /// How many runs.
    #[arg(long, default_value = "5")]
    pub(crate) runs: NonZeroUsize,
    /// Prints where the time goes instead.
    #[arg(long)]
    pub(crate) profile: bool,
    /// Prints the names of all workloads instead.
    #[arg(long)]
    pub(crate) list: bool,
    /// What `cargo bench` says.
    #[arg(long, hide = true)]
    bench: bool,
}
