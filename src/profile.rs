//! Profiles: where the time of steps goes, and how much of it the machine needs at least; and what memory is for.
//!
//! [`Trainer::profile`](crate::Trainer::profile) measures training steps, [`infer`] calls of
//! [`infer`](crate::infer()). The result is a [`Profile`].

mod table;
mod trace;

use std::time::Duration;

use paddle_core::plan::{Backend, Clock};
pub use paddle_core::plan::{
    LaunchEvent, LaunchProfile, MemoryKind, MemoryProfile, PartEvent, PartKind, Peak, Peaks, PlanProfile,
    VariableMemory,
};

use crate::Error;
use crate::batch::{AnyRows, Rows, RowsOf};
use crate::infer::{InferOptions, inference};
use crate::network::{Network, Spec};
use crate::parameters::Parameters;
use crate::reader::{IntoItem, Item};
use crate::train_loop::{NoBatch, ReaderFailed};

/// Where the time and the memory of steps go.
///
/// The unit is the *launch*: a group of operators that the backend runs as one kernel, or a move of the runtime, such as
/// a gather of rows. While a profile is measured, the host waits for each launch, and its time is that from the call of
/// the backend until then; a device with a clock of its own says what its work took. So launches that a device would
/// work off side by side are measured one by one, and a step takes longer than without a profile, on a card many times as
/// long. Its results have the same bits.
///
/// `Display` prints the time, the launches and the memory. `{}` shows the 30 launches that take longest, `{:#}` all. The
/// columns are, per step: the time; its share of the step or, by a device's clock, of all launches; the number of runs; the bytes of the operands; the
/// floating-point operations per second ([`LaunchProfile::flops`] says what counts); the *floor*, which is the share of the
/// time that the backend needs at least, at its [`Peaks`]; the part of the step; the place in your source; and the
/// operators, with the first value that they compute. A floor above 100 % means that values came from a cache, which is
/// faster than memory. The peaks are those of single precision.
///
/// ```
/// use paddle::{Options, Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>| {
///     let hidden = fc(x, 4, act = tanh);
///     mean(square(fc(hidden, 1) - y))
/// });
/// let batch = net.batch((0..16).map(|i| net.row([i as f32, 1.0, 2.0], 1.0)))?;
/// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.01)));
/// let profile = trainer.profile(&net, &mut parameters, [&batch; 6], &Options::default())?;
/// println!("{profile}");
///
/// // The product of 16 rows of 3 with a matrix of 3 x 4, and a bias and `tanh` of 16 x 4 elements, in each of 5 steps.
/// let hidden = ["matmul_v2", "elementwise_add", "tanh"];
/// let product = profile.launches().find(|launch| launch.operators == hidden).unwrap();
/// assert_eq!((product.calls, product.flops), (5, 5 * (2 * 16 * 3 * 4 + 2 * 16 * 4)));
/// assert!(product.place.as_ref().unwrap().file.ends_with(".rs"));
///
/// // For `chrome://tracing`, or https://ui.perfetto.dev.
/// let trace = profile.chrome_trace();
/// # let folder = std::env::temp_dir().join(format!("paddle-profile-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// std::fs::write(folder.join("trace.json"), trace).unwrap();
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// When each step began, and how long it took.
    steps: Vec<(Duration, Duration)>,
    plans: Vec<PlanProfile>,
    peaks: Option<Peaks>,
}

impl Profile {
    /// The number of steps that were measured.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The time of all measured steps.
    pub fn time(&self) -> Duration {
        self.steps.iter().map(|(_, time)| time).sum()
    }

    /// The launches that ran, in the order of the plan; their figures are sums over all steps.
    pub fn launches(&self) -> impl Iterator<Item = &LaunchProfile> {
        self.plans.iter().flat_map(|plan| &plan.launches).filter(|launch| launch.calls > 0)
    }

    /// What the backend can do at most, as measured before the first step. None where that cannot be measured, as in
    /// WebAssembly, which has no clock.
    pub fn peaks(&self) -> Option<Peaks> {
        self.peaks
    }

    /// The share of a launch's time that the backend needs at least, at its peaks.
    pub fn share_of_floor(&self, launch: &LaunchProfile) -> Option<f64> {
        let floor = self.peaks?.floor(launch.flops, launch.bytes);
        (!launch.time.is_zero()).then(|| floor / launch.time.as_secs_f64())
    }

    /// What was measured of each plan: one or, for steps in shards, two, that of a shard and that of the update. Each
    /// has its launches, which [`Peak`] and [`VariableMemory`] number, and its memory.
    pub fn plans(&self) -> &[PlanProfile] {
        &self.plans
    }

    /// The profile as a trace in JSON, for `chrome://tracing` and <https://ui.perfetto.dev>: steps, their parts, and the
    /// launches in these. Of each plan it has the first [`PlanProfile::MOST_EVENTS`] launches.
    pub fn chrome_trace(&self) -> String {
        trace::chrome(self)
    }
}

/// Calls [`infer`](crate::infer()) for all batches of a reader, and measures where time and memory go. If there is more
/// than one batch, the first is not measured: its call plans the network and allocates memory.
///
/// ```
/// use paddle::profile::{self, MemoryKind};
/// use paddle::{Parameters, network};
///
/// let net = network!(|x: Tensor<f32, _, 8>| softmax(fc(x, 4)));
/// let parameters = Parameters::create(&net)?;
/// let profile = profile::infer(&net, &parameters, vec![vec![[0.5; 8]; 16]; 3])?;
/// assert_eq!(profile.steps(), 2);
/// // 8 x 4 weights and 4 biases, each with room to the end of a cache line.
/// assert_eq!(profile.plans()[0].memory.bytes(MemoryKind::Parameter), 128 + 64);
/// # Ok::<(), paddle::Error>(())
/// ```
///
/// # Errors
/// Those of [`infer`](crate::infer()), those of a batch as [`Error::BatchFailed`]; [`Error::NoBatch`] if the reader has
/// no batch, and [`Error::Reader`] if it fails.
pub fn infer<S: Spec, B: Backend + Clone, R>(
    net: &Network<S>,
    parameters: &Parameters<B>,
    reader: R,
) -> Result<Profile, Error>
where
    R: IntoIterator<Item: IntoItem<Data: Rows<S>>>,
{
    infer_with(net, parameters, reader, InferOptions::default())
}

/// Like [`infer`], for calls of [`infer_with`](crate::infer_with()) with these settings.
///
/// ```
/// use paddle::{InferOptions, Parameters, Precision, network, profile};
///
/// let net = network!(|x: Tensor<f32, _, 8>| softmax(fc(x, 4)));
/// let parameters = Parameters::create(&net)?;
/// let half = InferOptions::default().precision(Precision::Bf16);
/// assert_eq!(profile::infer_with(&net, &parameters, vec![vec![[0.5; 8]; 16]; 3], half)?.steps(), 2);
/// # Ok::<(), paddle::Error>(())
/// ```
///
/// # Errors
/// Those of [`infer`], and those of [`infer_with`](crate::infer_with()).
pub fn infer_with<'t, S: Spec, B: Backend + Clone, R>(
    net: &Network<S>,
    parameters: &Parameters<B>,
    reader: R,
    options: impl Into<InferOptions<'t>>,
) -> Result<Profile, Error>
where
    R: IntoIterator<Item: IntoItem<Data: Rows<S>>>,
{
    let options = options.into();
    measure(reader, &mut *inference(net.model()?, parameters, options.wanted(), options.draws())?)
}

/// Steps that can be measured.
pub(crate) trait Measured {
    /// The peaks of the backend.
    fn peaks(&self) -> Option<Peaks>;

    /// Begins to measure.
    fn begin(&mut self, clock: Clock) -> Result<(), Error>;

    /// Runs a step.
    fn step(&mut self, rows: &dyn AnyRows) -> Result<(), Error>;

    /// Ends to measure.
    fn end(&mut self) -> Result<Vec<PlanProfile>, Error>;
}

/// Runs a step for each batch of a reader, and measures them.
pub(crate) fn measure<S: Spec, R>(reader: R, measured: &mut dyn Measured) -> Result<Profile, Error>
where
    R: IntoIterator<Item: IntoItem<Data: Rows<S>>>,
{
    let items = reader.into_iter().map(IntoItem::into_item);
    let mut items = items.filter(|item| !matches!(item, Item::EndPass)).peekable();
    let (peaks, clock) = (measured.peaks(), Clock::start());
    let (mut steps, mut batch) = (Vec::new(), 0);
    let mut run = || {
        while let Some(item) = items.next() {
            let rows = match item {
                Item::Data(rows) => rows,
                Item::EndPass => continue,
                Item::Failed(failure) => return Err(ReaderFailed { pass: 0, batch, failure }.into()),
            };
            let counts = batch > 0 || items.peek().is_none();
            if counts && steps.is_empty() {
                measured.begin(clock)?;
            }
            let begin = clock.now();
            let stepped = measured.step(&RowsOf::<S, _>::new(&rows));
            stepped.map_err(|error| error.of_batch((0, batch)))?;
            if counts {
                steps.push((begin, clock.now().saturating_sub(begin)));
            }
            batch += 1;
        }
        if batch == 0 { Err(Error::from(NoBatch)) } else { Ok(()) }
    };
    let ran = run();
    let plans = measured.end();
    ran?;
    Ok(Profile { steps, plans: plans?, peaks })
}
