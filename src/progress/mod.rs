//! What is seen of a training while it runs: a bar or lines, a log, curves.

#[cfg(feature = "terminal")]
mod bar;
#[cfg(feature = "plot")]
mod curve;
mod lines;
mod log;
mod text;

use std::io::{self, Write};
use std::sync::Once;
use std::time::{Duration, Instant};

#[cfg(feature = "terminal")]
use self::bar::Bar;
#[cfg(feature = "plot")]
use self::curve::Curve;
use self::lines::Lines;
use self::log::Log;
use crate::Error;
use crate::event::EventKind;
use crate::files::FileError;
use crate::model::Model;
use crate::options::Options;
use crate::train_loop::Ended;

/// An event, and what is known then.
struct Moment<'a> {
    kind: EventKind<'a>,
    /// The name of the network.
    network: &'a str,
    /// The names of its metrics.
    names: &'a [String],
    /// The rows of the batch that ends here.
    rows: usize,
    /// The steps that the network was trained by, this one included.
    steps: u64,
    /// Why the training ends here.
    ended: Option<Ended>,
    /// Since the training began.
    elapsed: Duration,
    /// The rows per second of the pass so far.
    rate: f64,
}

impl Moment<'_> {
    /// The metrics of the batch or pass that ends here.
    fn metrics(&self) -> impl Iterator<Item = (&str, f32)> {
        self.names.iter().map(String::as_str).zip(self.kind.metrics().iter().copied())
    }
}

/// One way to see a training.
trait Watcher {
    fn see(&mut self, moment: &Moment<'_>) -> Result<(), FileError>;

    /// A checkpoint was written: what was seen so far is to outlast the process, too.
    fn keep(&mut self) -> Result<(), FileError> {
        Ok(())
    }

    /// The training ends with an error. There is no other error then, whatever can be written.
    fn fail(&mut self, _error: &Error, _elapsed: Duration) {}
}

/// All that watch one training.
pub(crate) struct Watchers {
    network: String,
    names: Vec<String>,
    /// The steps that the network was trained by so far.
    steps: u64,
    /// Not of a training that nobody watches: not every platform has a clock.
    begun: Option<Instant>,
    /// When the pass began, and its rows.
    pass: (Duration, usize),
    bar: Option<Bar>,
    others: Vec<Box<dyn Watcher>>,
}

impl Watchers {
    /// Those that were asked for, of a network that was trained by so many steps.
    pub(crate) fn new(options: &Options, model: &Model, steps: u64) -> Result<Self, FileError> {
        let names: Vec<_> = model.metrics().map(|(_, metric)| metric.name.clone()).collect();
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
        Ok(Watchers {
            network: model.signature.network.clone(),
            names,
            steps,
            begun: (bar.is_some() || !others.is_empty()).then(Instant::now),
            pass: (Duration::ZERO, 0),
            bar,
            others,
        })
    }

    /// Tells them of an event; `rows` are those of the batch that ends here, `ended` says why the training does.
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

    /// Tells them that a checkpoint was written.
    pub(crate) fn keep(&mut self) -> Result<(), FileError> {
        self.others.iter_mut().try_for_each(|watcher| watcher.keep())
    }

    /// Tells them that the training ends with an error.
    pub(crate) fn fail(&mut self, error: &Error) {
        let elapsed = self.begun.as_ref().map_or(Duration::ZERO, Instant::elapsed);
        self.others.iter_mut().for_each(|watcher| watcher.fail(error, elapsed));
    }

    /// Does what may print. At a batch the bar stays where it is: to clear and draw it takes longer than small batches.
    pub(crate) fn aside<R>(&self, kind: EventKind<'_>, action: impl FnOnce() -> R) -> R {
        match (&self.bar, kind) {
            (None, _) | (_, EventKind::BeginIteration { .. } | EventKind::EndIteration { .. }) => action(),
            (Some(bar), _) => bar.aside(action),
        }
    }
}

/// There are no bars without terminals.
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

/// Says once per process that a build for debugging is slow.
fn warn_of_debug_builds() {
    static WARNED: Once = Once::new();
    if cfg!(debug_assertions) {
        WARNED.call_once(|| {
            let text = "warning: this is built without `--release`: training takes many times longer";
            // Whoever closed the stream does not read it.
            let _ = writeln!(io::stderr(), "{text}");
        });
    }
}
