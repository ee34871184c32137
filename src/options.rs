//! Settings of one call of [`Trainer::train`](crate::Trainer::train).

use std::fmt;
use std::num::NonZero;
use std::path::PathBuf;

use paddle_core::ops::Program;
use paddle_core::plan::{Arithmetic, Numbers, Precision};

use crate::frozen::Frozen;
use crate::parameter_name::ParameterGroup;
use crate::setting::SettingError;

/// Settings of one call of [`Trainer::train`](crate::Trainer::train), or of a [`step`](crate::Trainer::step_with). A
/// step uses only the settings about what is computed: [`freeze`](Self::freeze), [`shards`](Self::shards),
/// [`check_numbers`](Self::check_numbers), [`precision`](Self::precision), [`allow_nan`](Self::allow_nan).
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
    /// The frozen parameters, in any order.
    pub(crate) frozen: Frozen,
    pub(crate) arithmetic: Arithmetic,
    pub(crate) allows_nan: bool,
    pub(crate) progress: bool,
    pub(crate) log: Option<PathBuf>,
    #[cfg(feature = "plot")]
    pub(crate) curve: Option<PathBuf>,
    #[cfg(feature = "plot")]
    pub(crate) tensorboard: Option<PathBuf>,
    #[cfg(feature = "terminal")]
    pub(crate) interruptible: bool,
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) checkpoint_every: u64,
    /// The number of shards; `None` for that of the network's program.
    pub(crate) shards: Option<usize>,
}

/// A batch was to be cut into 0 shards.
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
    /// Freezes parameters: `Options::default().freeze(gan::params::D)`.
    ///
    /// Frozen parameters, their states, and the statistics among them keep every bit. Gradients still flow through the
    /// operators that use them. Other calls may train them.
    pub fn freeze(mut self, parameters: impl Into<ParameterGroup>) -> Self {
        self.frozen.add(parameters.into());
        self
    }

    /// Freezes the parameters whose names fit a pattern, in which `*` stands for any characters: those of a network that
    /// was [loaded](crate::Network::load) have no items of Rust.
    ///
    /// Calls with these options end in [`ParameterError::NoSuch`](crate::ParameterError::NoSuch) if no parameter of their
    /// network fits.
    ///
    /// ```
    /// use paddle::{Error, Options, Parameters, Sgd, Trainer, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 2>| mean(square(fc(fc(x, 4, param = "trunk"), 1, param = "head"))));
    /// let mut parameters = Parameters::create(&net)?;
    /// let before = parameters.get::<f32>("trunk.w")?.to_owned();
    /// let mut trainer = Trainer::new(Sgd::new(0.1));
    /// trainer.step_with(&net, &mut parameters, [[1.0, 2.0]], &Options::default().freeze_named("trunk.*"))?;
    /// assert_eq!(parameters.get::<f32>("trunk.w")?, before);
    /// let misspelt = Options::default().freeze_named("trunc.*");
    /// let error = trainer.step_with(&net, &mut parameters, [[1.0, 2.0]], &misspelt);
    /// assert!(matches!(error, Err(Error::Parameter(_))));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn freeze_named(mut self, pattern: impl Into<String>) -> Self {
        self.frozen.add_pattern(pattern.into());
        self
    }

    /// Cuts each batch into this many shards: runs of consecutive rows, with whole sequences, as equal in size as
    /// possible.
    ///
    /// Each shard is computed alone. Gradients are added up in the order of a binary tree over the shards before they are clipped and
    /// applied. So the result is that of the whole batch up to rounding, and its bits depend only on the number of
    /// shards, whatever computes them. Rows draw the same random numbers as without shards, and metrics are those of
    /// the whole batch. With one shard the batch is not cut. The default is the number in the network's program, which
    /// is one unless [`set_shards`](paddle_core::ops::Program::set_shards) changed it.
    ///
    /// On one machine shards are computed one after the other, so activations take the memory of one shard: a large batch in
    /// shards is what is called the accumulation of gradients. There is no other setting for it, as a step then is one of the
    /// whole batch in every respect: its cost, its metrics, its events, its learning rate and its number.
    ///
    /// A step fails before anything is computed if the values of shards would not add up to that of the batch: the cost
    /// has to be a sum or a mean over rows, or linear in such sums and means. Among others, a maximum over all rows, and a
    /// product of two means are refused; the error names the operator and its place.
    ///
    /// `batch_norm` is the exception: it normalises each row by the mean and the variance of the rows of its shard, so its
    /// result is another one than that of the whole batch. Its moving statistics move once a step, towards the mean of the
    /// shards' statistics, weighted by rows. They are noisy where shards have few rows.
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = Some(shards);
        self
    }

    /// The number of shards that batches of a network are cut into. Numbers above the possible number of rows are
    /// reduced to it.
    pub(crate) fn shard_count(&self, network: &Program) -> Result<NonZero<u32>, NoShards> {
        let Some(shards) = self.shards else { return Ok(network.shards()) };
        NonZero::new(u32::try_from(shards).unwrap_or(u32::MAX)).ok_or(NoShards)
    }

    /// Checks that no setting lacks another one that it needs.
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        if self.checkpoint_every == 0 || self.checkpoint.is_some() {
            return Ok(());
        }
        let (found, expected) = ("missing".to_string(), "given by `checkpoint(path)`".to_string());
        let setting = format!("the file of `checkpoint_every({})`", self.checkpoint_every);
        Err(SettingError { setting, found, expected })
    }

    /// Writes a checkpoint to this file at the end of each pass, and when the training is stopped.
    /// [`resume`](crate::Trainer::resume) continues from it. The file is replaced as a whole or not at all, and the
    /// checkpoint before it is kept, at [`checkpoint::previous`](crate::checkpoint::previous);
    /// [`checkpoint`](crate::checkpoint) lists the other files next to it.
    ///
    /// Before the first batch is read, the training checks that the file can be written, without changing it. It holds
    /// a lock on the file until it ends: a second training with the same file is an error that names the holder.
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Self {
        self.checkpoint = Some(path.into());
        self
    }

    /// Writes the checkpoint also after every `steps` steps; 0 means never. `train` errors without a file for it.
    pub fn checkpoint_every(mut self, steps: u64) -> Self {
        self.checkpoint_every = steps;
        self
    }

    /// Errors at the first operator, of gradients and updates too, whose result is NaN or infinite. The error names the
    /// operator, its place in the source and the step. Steps are slow, as nothing is fused and every value is checked.
    pub fn check_numbers(mut self) -> Self {
        self.arithmetic.numbers = Numbers::Finite;
        self
    }

    /// Computes products of `f32` matrices, convolutions, and the gradients of both, in this precision.
    ///
    /// With [`Precision::Bf16`], factors are rounded to bf16 as a product reads them, and products are added up in `f32`.
    /// All else is in `f32`, as ever: parameters, states, gradients and every other value, attention over sequences, sums, statistics,
    /// losses and updates. So files, checkpoints and programs do not depend on the setting, and one training may go on with another.
    /// Values of other types, `f64` too, are computed as the network says. The bits of a result depend on no number of
    /// threads, but on the processor: some add up several products in one instruction. Products of
    /// matrices are faster where there are such instructions, and may be slower than in `f32` elsewhere. Convolutions are rounded on processors
    /// with AMX alone, and not if they have few channels or are in groups; others are in `f32`, which is more accurate.
    ///
    /// ```
    /// use paddle::{Options, Parameters, Precision, Sgd, Trainer, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
    /// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.1)));
    /// let half = Options::default().precision(Precision::Bf16);
    /// let rows = [([1.0, 2.0], 0.5), ([2.0, 1.0], 1.0)];
    /// let first = trainer.step_with(&net, &mut parameters, rows, &half)?.cost();
    /// assert!(trainer.step_with(&net, &mut parameters, rows, &half)?.cost() < first);
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// A step with it is an error, [`PlanError::Precision`](crate::PlanError::Precision), where the backend does not
    /// compute in the precision. The CPU does, whatever the processor; it is fast on those with AVX-512 BF16.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.arithmetic.precision = precision;
        self
    }

    /// Lets steps update whatever their cost is, and trainings go on whatever the parameters are.
    ///
    /// Without this setting, a step whose cost is NaN or infinite is an error, [`CostNotFinite`](crate::CostNotFinite),
    /// which says where in the source the number comes from; no parameter and no statistics have changed. A cost may be
    /// finite though its gradient is not, so `train` also checks the parameters at the end of each pass and before each
    /// checkpoint. If one is not finite, the training ends with an error that names it, and no checkpoint is written.
    pub fn allow_nan(mut self) -> Self {
        self.allows_nan = true;
        self
    }

    /// Shows progress on the standard error stream. A build without `--release` is warned about once, in a line.
    ///
    /// On a terminal, progress is a bar with the pass, the cost and metrics of the batch, rows per second and, from the
    /// second pass on, the time left in the pass. What a handler prints at the beginning and end of passes appears
    /// above the bar. When the training ends, a line with the last figures remains.
    ///
    /// Elsewhere progress is lines: one at the end of each pass, and one for a batch if ten seconds have passed without
    /// any. A pass that ends within a second of the last line has none, but the last pass or batch of the training
    /// always has one.
    pub fn progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// Appends a log to this file: a line of JSON for each event, named in `event`: `begin_training`, `begin_pass`,
    /// `end_iteration`, `end_pass` and `end_training`; if the training fails, the last one is `error`.
    ///
    /// Each line has `run`, which identifies the call of `train`, and `seconds` since the call. `begin_training` has
    /// the `network`, the `time` in seconds since 1970 and the `version` of this library. `end_training` has the
    /// reason, `ended`: `finished`, `stopped` or `interrupted`. An `error` has a `message`. Where they apply, lines
    /// have `pass`, `batch`, `rows`, `cost`, `metrics` by name, and `step`: in `end_iteration` the number of the step,
    /// elsewhere that of the next step, which is not 0 at the beginning of a resumed training. NaN and infinities are
    /// `null`.
    pub fn log(mut self, path: impl Into<PathBuf>) -> Self {
        self.log = Some(path.into());
        self
    }

    /// Draws a picture, in SVG, of the cost and the metrics over the batches that the trainer has trained the network
    /// on. It is written when the training ends, for whatever reason, and with each [`checkpoint`](Self::checkpoint).
    ///
    /// A training that continues, after [`resume`](crate::Trainer::resume) or by another call of `train`, continues the
    /// picture in the file. A training from the beginning replaces it.
    #[cfg(feature = "plot")]
    pub fn curve(mut self, path: impl Into<PathBuf>) -> Self {
        self.curve = Some(path.into());
        self
    }

    /// Writes what TensorBoard shows into this folder, which is created if need be: the cost and the metrics of each batch as
    /// `batch/cost` and so on, and their means over each pass as `pass/cost`, both over the steps. Each call of `train` writes a
    /// file of its own; `tensorboard --logdir FOLDER` shows all of a folder, and of the folders in it. The format and its
    /// limits are those of [`plot::TensorBoard`](crate::plot::TensorBoard).
    #[cfg(feature = "plot")]
    pub fn tensorboard(mut self, folder: impl Into<PathBuf>) -> Self {
        self.tensorboard = Some(folder.into());
        self
    }

    /// Makes Ctrl-C work like [`stop`](crate::Event::stop): the step is finished, a [`checkpoint`](Self::checkpoint) is
    /// saved if one is asked for, only `EndTraining` follows, and `train` returns [`Ended::Interrupted`](crate::Ended).
    /// A second Ctrl-C ends the process, and so does one while no training is running.
    #[cfg(feature = "terminal")]
    pub fn interruptible(mut self) -> Self {
        self.interruptible = true;
        self
    }
}
