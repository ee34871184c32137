//! Settings of one call of [`Trainer::train`](crate::Trainer::train).

use std::fmt;
use std::num::NonZero;
use std::path::PathBuf;

use paddle_core::plan::Numbers;
use paddle_core::program::Program;

use crate::parameter_name::ParameterGroup;

/// Settings of one call of [`Trainer::train`](crate::Trainer::train), or of a [`step`](crate::Trainer::step_with).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// In any order.
    pub(crate) frozen: Vec<ParameterGroup>,
    pub(crate) numbers: Numbers,
    pub(crate) progress: bool,
    pub(crate) log: Option<PathBuf>,
    pub(crate) curve: Option<PathBuf>,
    pub(crate) interruptible: bool,
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) checkpoint_every: u64,
    /// As many as the network says, if nothing is said.
    shards: Option<usize>,
}

/// A batch was to be cut into no shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoShards;

impl fmt::Display for NoShards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a batch cannot be cut into 0 shards; with 1 it stays whole")
    }
}

impl std::error::Error for NoShards {}

impl Options {
    /// With parameters that stay as they are: `Options::default().freeze(gan::params::D)`.
    ///
    /// Gradients flow through what they are used for, but they get none themselves: their values, what the updater
    /// keeps of them, and statistics among them keep every bit. Other calls may train them.
    pub fn freeze(mut self, parameters: impl Into<ParameterGroup>) -> Self {
        self.frozen.push(parameters.into());
        self
    }

    /// With each batch cut into so many shards: the first rows, those behind them, and so on, as equal in number as can be,
    /// sequences as a whole.
    ///
    /// Each shard is computed alone, and gradients are added up in the order of the shards before they are clipped and
    /// update. So the result is, but for rounding, that of the whole batch, and to the last bit a function of the number of
    /// shards, on whatever they are computed. Random numbers are those that the rows draw without shards; metrics are those of
    /// the batch. One shard is the batch. Without this setting there are as many as the program of the network says, which is
    /// one unless it was made with [`set_shards`](paddle_core::program::Program::set_shards).
    ///
    /// A step fails before anything is computed where shards would not add up to the batch: the cost has to be a sum or a mean
    /// over rows, or what is made of such linearly. `batch_norm`, the largest of all rows, a product of two means are not; the
    /// error names the operator and its place.
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = Some(shards);
        self
    }

    /// The number of shards that batches of a network are cut into. More than there can be rows are as many as these.
    pub(crate) fn shard_count(&self, network: &Program) -> Result<NonZero<u32>, NoShards> {
        let Some(shards) = self.shards else { return Ok(network.shards()) };
        NonZero::new(u32::try_from(shards).unwrap_or(u32::MAX)).ok_or(NoShards)
    }

    /// With a checkpoint in this file at the end of each pass and when the training is stopped, from which
    /// [`resume`](crate::Trainer::resume) goes on. The file is replaced as a whole or not at all, and the one before it is kept, in
    /// [`checkpoint::previous`](crate::checkpoint::previous); [`checkpoint`](crate::checkpoint) says what else is beside it.
    ///
    /// Before the first batch is read, it is tried whether the file can be written, without a change to what is there, and no other
    /// training may write to it until this one ends: a second one is an error that says who holds it.
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Self {
        self.checkpoint = Some(path.into());
        self
    }

    /// With that checkpoint also after every so many steps; 0 is never.
    pub fn checkpoint_every(mut self, steps: u64) -> Self {
        self.checkpoint_every = steps;
        self
    }

    /// With an error at the first operator that gives NaN or an infinity, which names it, its place in the source and
    /// the step. Steps are slow: nothing is fused, and every value is looked at.
    pub fn check_numbers(mut self) -> Self {
        self.numbers = Numbers::Finite;
        self
    }

    /// With progress on the standard error stream: on a terminal one bar, with the pass, cost and metrics of the batch,
    /// rows per second and, from the second pass on, the time that is left of the pass; elsewhere a line when a pass
    /// ends, at most one a second. Builds without `--release` are warned of.
    ///
    /// What a handler prints at the begin and end of passes goes above the bar.
    pub fn progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// With a line of JSON for each event, appended to this file: `event`, `seconds` since the beginning of the training and,
    /// where there are any, `pass`, `batch`, `rows`, `cost` and `metrics` by name. NaN and infinities are `null`.
    pub fn log(mut self, path: impl Into<PathBuf>) -> Self {
        self.log = Some(path.into());
        self
    }

    /// With a picture, in SVG, of the cost and the metrics over the batches, written when the training ends or is stopped.
    pub fn curve(mut self, path: impl Into<PathBuf>) -> Self {
        self.curve = Some(path.into());
        self
    }

    /// With Ctrl-C as [`stop`](crate::Event::stop): the step is finished, a [`checkpoint`](Self::checkpoint) is saved if there
    /// is to be one, and only `EndTraining` follows. A second Ctrl-C ends the process, as does one when no training is running.
    pub fn interruptible(mut self) -> Self {
        self.interruptible = true;
        self
    }
}
