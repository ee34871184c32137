//! The visible progress of a training: a bar or lines, a log, curves, TensorBoard.

#[cfg(feature = "terminal")]
mod bar;
#[cfg(feature = "plot")]
mod curve;
mod event_text;
mod lines;
mod log;
#[cfg(feature = "plot")]
mod tensorboard;
mod watch;

use std::io::{self, Write};
use std::sync::Once;
use std::time::{Duration, Instant};

#[cfg(feature = "terminal")]
use self::bar::Bar;
#[cfg(feature = "plot")]
use self::curve::Curve;
use self::lines::Lines;
use self::log::Log;
pub use self::watch::Watch;
use crate::Error;
use crate::event::EventKind;
use crate::files::FileError;
use crate::options::Options;
#[cfg(feature = "plot")]
use crate::plot::TensorBoard;
use crate::train_loop::Ended;

/// An event, with the facts that watchers show.
struct Moment<'a> {
    kind: EventKind<'a>,
    /// The name of the network, or of the loop.
    network: &'a str,
    /// The names of what a step gives: that of the cost, and those of the metrics.
    names: &'a [String],
    /// The number of rows of the batch that ends here.
    rows: usize,
    /// The number of steps of the network, this one included.
    steps: u64,
    /// The reason why the training ends here.
    ended: Option<Ended>,
    /// The time since the training began.
    elapsed: Duration,
    /// The rows per second of the pass so far.
    rate: f64,
}

impl Moment<'_> {
    /// The cost and the metrics of the batch or pass that ends here.
    fn figures(&self) -> impl Iterator<Item = (&str, f32)> {
        let values = self.kind.cost().into_iter().chain(self.kind.metrics().iter().copied());
        self.names.iter().map(String::as_str).zip(values)
    }
}

/// A watcher of a training: it shows or records events.
trait Watcher {
    fn see(&mut self, moment: &Moment<'_>) -> Result<(), FileError>;

    /// Called after a checkpoint was written. The watcher makes sure that what it has recorded so far survives the
    /// process.
    fn keep(&mut self) -> Result<(), FileError> {
        Ok(())
    }

    /// Called when the training fails. A watcher reports no error of its own then.
    fn fail(&mut self, _error: &Error, _elapsed: Duration) {}
}

/// All watchers of one training.
pub(crate) struct Watchers {
    network: String,
    names: Vec<String>,
    /// The number of steps of the network so far.
    steps: u64,
    /// The start time; `None` if there are no watchers, since not every platform has a clock.
    begun: Option<Instant>,
    /// The start time of the pass, and the number of its rows.
    pass: (Duration, usize),
    bar: Option<Bar>,
    others: Vec<Box<dyn Watcher>>,
}

impl Watchers {
    /// The watchers that the options ask for. `names` are those of the cost and the metrics of the network, and `steps` is
    /// the number of steps that it was trained by.
    pub(crate) fn new(
        options: &Options,
        network: &str,
        names: Vec<String>,
        steps: u64,
    ) -> Result<Self, FileError> {
        let mut others: Vec<Box<dyn Watcher>> = Vec::new();
        let mut bar = None;
        if options.progress {
            warn_of_debug_builds();
            bar = Bar::on_terminal();
            if bar.is_none() {
                others.push(Box::new(Lines::new(io::stderr())));
            }
        }
        if let Some(path) = &options.log {
            others.push(Box::new(Log::open(path)?));
        }
        #[cfg(feature = "plot")]
        if let Some(path) = &options.curve {
            others.push(Box::new(Curve::new(path, &names, steps)));
        }
        #[cfg(feature = "plot")]
        if let Some(folder) = &options.tensorboard {
            others.push(Box::new(TensorBoard::create(folder)?));
        }
        Ok(Watchers {
            network: network.to_string(),
            names,
            steps,
            begun: (bar.is_some() || !others.is_empty()).then(Instant::now),
            pass: (Duration::ZERO, 0),
            bar,
            others,
        })
    }

    /// Passes an event on. `rows` is the number of rows of the batch that ends here, `ended` the reason why the
    /// training ends.
    pub(crate) fn see(
        &mut self,
        kind: EventKind<'_>,
        rows: usize,
        ended: Option<Ended>,
    ) -> Result<(), FileError> {
        let Some(begun) = self.begun else { return Ok(()) };
        let elapsed = begun.elapsed();
        match kind {
            EventKind::BeginPass { .. } => self.pass = (elapsed, 0),
            EventKind::EndIteration { .. } => {
                self.pass.1 += rows;
                self.steps += 1;
            }
            EventKind::BeginTraining
            | EventKind::BeginIteration { .. }
            | EventKind::EndPass { .. }
            | EventKind::EndTraining => {}
        }
        let rate = self.pass.1 as f64 / (elapsed - self.pass.0).as_secs_f64().max(1e-9);
        let (network, names) = (self.network.as_str(), self.names.as_slice());
        let moment = Moment { kind, network, names, rows, steps: self.steps, ended, elapsed, rate };
        if let Some(bar) = &mut self.bar {
            bar.see(&moment)?;
        }
        self.others.iter_mut().try_for_each(|watcher| watcher.see(&moment))
    }

    /// Tells the watchers that a checkpoint was written.
    pub(crate) fn keep(&mut self) -> Result<(), FileError> {
        self.others.iter_mut().try_for_each(|watcher| watcher.keep())
    }

    /// Tells the watchers that the training ends with an error.
    pub(crate) fn fail(&mut self, error: &Error) {
        let elapsed = self.begun.as_ref().map_or(Duration::ZERO, Instant::elapsed);
        self.others.iter_mut().for_each(|watcher| watcher.fail(error, elapsed));
    }

    /// Runs an action that may print. At the events of a batch the bar stays: clearing and redrawing it takes longer
    /// than small batches.
    pub(crate) fn aside<R>(&self, kind: EventKind<'_>, action: impl FnOnce() -> R) -> R {
        match (&self.bar, kind) {
            (None, _) | (_, EventKind::BeginIteration { .. } | EventKind::EndIteration { .. }) => action(),
            (Some(bar), _) => bar.aside(action),
        }
    }
}

/// Without the feature `terminal` there is no bar.
#[cfg(not(feature = "terminal"))]
enum Bar {}

#[cfg(not(feature = "terminal"))]
impl Bar {
    fn on_terminal() -> Option<Self> {
        None
    }

    fn aside<R>(&self, _action: impl FnOnce() -> R) -> R {
        match *self {}
    }
}

#[cfg(not(feature = "terminal"))]
impl Watcher for Bar {
    fn see(&mut self, _moment: &Moment<'_>) -> Result<(), FileError> {
        match *self {}
    }
}

/// Warns, once per process, that a debug build is slow.
fn warn_of_debug_builds() {
    static WARNED: Once = Once::new();
    if cfg!(debug_assertions) {
        WARNED.call_once(|| {
            let text = "warning: this is built without `--release`: training takes many times longer";
            // If the stream is closed, nobody reads the warning.
            let _ = writeln!(io::stderr(), "{text}");
        });
    }
}
