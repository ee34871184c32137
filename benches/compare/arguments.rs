//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::seconds::seconds;

/// Runs workloads beside their twins in other frameworks, and prints a table of ratios. The peers are those that the Python
/// of `PADDLE_PYTHON`, or else `python3`, can import: torch, jax, onnxruntime.
#[derive(Parser)]
pub(crate) struct Arguments {
    /// Which workloads; all that have a twin, if it is left out.
    #[arg(long = "workload", value_delimiter = ',')]
    pub(crate) workloads: Vec<String>,
    /// A folder with folders of models that PaddlePaddle saved, instead of workloads: here, in PaddlePaddle, and, as they are exported
    /// to ONNX, in onnxruntime. `../peers/save_models.py` makes some.
    #[arg(long, conflicts_with = "workloads")]
    pub(crate) models: Option<PathBuf>,
    /// The rows of a batch for these models.
    #[arg(long, value_delimiter = ',', default_value = "1,32")]
    pub(crate) batch: Vec<NonZeroUsize>,
    /// On how many threads; several numbers are measured one after the other.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    pub(crate) threads: Vec<NonZeroUsize>,
    /// How many rounds: of the clock's times the median counts, of the processor's the least.
    #[arg(long, default_value = "3")]
    pub(crate) rounds: NonZeroUsize,
    /// About how many seconds each program runs in a round.
    #[arg(long, default_value = "1", value_parser = seconds)]
    pub(crate) seconds: Duration,
    /// What products are computed in: here, and in bf16 in PyTorch, by `autocast`, and no other peer. Peers compute in f32 beside bf16x3.
    #[arg(long, default_value = "f32", value_parser = ["f32", "bf16", "bf16x3"], conflicts_with = "models")]
    pub(crate) precision: String,
    /// Only peers whose names contain one of these: `torch`, `compiled`, `jax`.
    #[arg(long = "peer", value_delimiter = ',')]
    peers: Vec<String>,
    /// After how many seconds a program that does not answer is given up: compilers take minutes.
    #[arg(long, default_value = "400", value_parser = seconds)]
    pub(crate) patience: Duration,
    /// What `cargo bench` says.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Arguments {
    /// Whether a peer is to be run.
    pub(crate) fn wants(&self, peer: &str) -> bool {
        self.peers.is_empty() || self.peers.iter().any(|part| peer.contains(part.as_str()))
    }
}
