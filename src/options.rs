//! Settings of one call of [`Trainer::train`](crate::Trainer::train).

use std::fmt;
use std::num::NonZero;
use std::path::PathBuf;

use paddle_core::ops::Program;
use paddle_core::plan::Numbers;

use crate::parameter_name::ParameterGroup;
use crate::setting::SettingError;

/// Settings of one call of [`Trainer::train`](crate::Trainer::train), or of a [`step`](crate::Trainer::step_with), which those
/// concern that say what is computed: [`freeze`](Self::freeze), [`shards`](Self::shards), [`check_numbers`](Self::check_numbers),
/// [`allow_nan`](Self::allow_nan).
///
/// ```
/// use paddle::reader::{DataSet, Reader};
/// use paddle::{Options, Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(x, 1))));
/// # let folder = std::env::temp_dir().join(format!("paddle-options-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let options = Options::default()
///     .freeze(net.params.fc.b)
///     .checkpoint(folder.join("run.safetensors"))
///     .checkpoint_every(1_000)
///     .log(folder.join("run.jsonl"))
///     .curve(folder.join("run.svg"));
/// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.1)));
/// trainer.train(&net, &mut parameters, [1.0, 2.0].passes(2).batch(1), options, |_| Ok(()))?;
/// for file in ["run.safetensors", "run.jsonl", "run.svg"] {
///     assert!(folder.join(file).exists());
/// }
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// In any order.
    pub(crate) frozen: Vec<ParameterGroup>,
    pub(crate) numbers: Numbers,
    pub(crate) allows_nan: bool,
    pub(crate) progress: bool,
    pub(crate) log: Option<PathBuf>,
    #[cfg(feature = "plot")]
    pub(crate) curve: Option<PathBuf>,
    #[cfg(feature = "terminal")]
    pub(crate) interruptible: bool,
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) checkpoint_every: u64,
    /// As many as the network says, if nothing is said.
    pub(crate) shards: Option<usize>,
}

/// A batch was to be cut into no shards.
///
/// ```
/// use paddle::{Error, Options, Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(x, 1))));
/// let mut parameters = Parameters::create(&net)?;
/// let mut trainer = Trainer::new(Sgd::new(0.1));
/// let stepped = trainer.step_with(&net, &mut parameters, [1.0], &Options::default().shards(0));
/// assert!(matches!(stepped, Err(Error::Shards(_))));
/// # Ok::<(), Error>(())
/// ```
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
    /// one unless it was made with [`set_shards`](paddle_core::ops::Program::set_shards).
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

    /// Whether one setting lacks another.
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        if self.checkpoint_every == 0 || self.checkpoint.is_some() {
            return Ok(());
        }
        let (found, expected) = ("missing".to_string(), "given by `checkpoint(path)`".to_string());
        let setting = format!("the file of `checkpoint_every({})`", self.checkpoint_every);
        Err(SettingError { setting, found, expected })
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

    /// With that checkpoint also after every so many steps; 0 is never. Without a file for it, it is an error of `train`.
    pub fn checkpoint_every(mut self, steps: u64) -> Self {
        self.checkpoint_every = steps;
        self
    }

    /// With an error at the first operator that gives NaN or an infinity, gradients and updates included, which names it,
    /// its place in the source and the step. Steps are slow: nothing is fused, and every value is looked at.
    pub fn check_numbers(mut self) -> Self {
        self.numbers = Numbers::Finite;
        self
    }

    /// With steps that update whatever their cost is, and trainings that go on whatever the parameters are.
    ///
    /// Otherwise a step whose cost is NaN or infinite is an error, [`CostNotFinite`](crate::CostNotFinite), which says where
    /// in the source the number comes from: no parameter has changed, no statistics have moved. A cost may be finite though
    /// its gradient is not. So `train` looks at the parameters, too, at the end of each pass and before each checkpoint: if one is
    /// not finite, the training ends with an error that names it, and no checkpoint is written.
    pub fn allow_nan(mut self) -> Self {
        self.allows_nan = true;
        self
    }

    /// With progress on the standard error stream. Builds without `--release` are warned of in a line, once.
    ///
    /// On a terminal it is one bar, with the pass, cost and metrics of the batch, rows per second and, from the second pass
    /// on, the time that is left of the pass. What a handler prints at the begin and end of passes goes above the bar. When
    /// the training ends, a line with the last figures stays.
    ///
    /// Elsewhere it is lines, one for a pass when it ends, and one for a batch when ten seconds have passed without any. Passes that
    /// end within a second of the line before have none, but the last pass or batch of the training has one in any case.
    pub fn progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// With lines of JSON, appended to this file: `begin_training`, `begin_pass`, `end_iteration`, `end_pass` and
    /// `end_training` are their `event`s, and `error` is the last where the training fails.
    ///
    /// Each line has `run`, which tells the lines of one call of `train` from those of others, and `seconds` since the call.
    /// `begin_training` has the `network`, the `time` in seconds since 1970 and the `version` of this library; `end_training` says
    /// why, as `ended`: `finished`, `stopped` or `interrupted`; an `error` has a `message`. The lines have, where there are any,
    /// `pass`, `batch`, `rows`, `cost` and `metrics` by name, and `step`: in `end_iteration` the number of the step, elsewhere that of the
    /// next one, which is not 0 at the begin of a training that goes on. NaN and infinities are `null`.
    pub fn log(mut self, path: impl Into<PathBuf>) -> Self {
        self.log = Some(path.into());
        self
    }

    /// With a picture, in SVG, of the cost and the metrics over the batches that the trainer has trained the network on. It is
    /// written when the training ends, for whatever reason, and with each [`checkpoint`](Self::checkpoint).
    ///
    /// A training that goes on, after [`resume`](crate::Trainer::resume) or by another call of `train`, goes on with the
    /// picture that is in the file: what that shows of the batches so far is kept. One from the beginning replaces it.
    #[cfg(feature = "plot")]
    pub fn curve(mut self, path: impl Into<PathBuf>) -> Self {
        self.curve = Some(path.into());
        self
    }

    /// With Ctrl-C as [`stop`](crate::Event::stop): the step is finished, a [`checkpoint`](Self::checkpoint) is saved if there
    /// is to be one, only `EndTraining` follows, and `train` returns [`Ended::Interrupted`](crate::Ended). A second Ctrl-C ends the process, as does one when no training is running.
    #[cfg(feature = "terminal")]
    pub fn interruptible(mut self) -> Self {
        self.interruptible = true;
        self
    }
}
