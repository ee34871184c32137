//! The watchers of a training, for a loop of one's own.

use std::iter;

use paddle_core::plan::Backend;

use super::Watchers;
use crate::Error;
use crate::checkpoint::{self, Trainings};
use crate::event::EventKind;
use crate::files::keeper::{Keeper, warned};
use crate::interrupt::Interrupt;
use crate::metrics::{Mean, Metric};
use crate::options::Options;
use crate::parameters::Parameters;
use crate::train_loop::Ended;

/// What [`train`](crate::Trainer::train) has by its [`Options`], for a loop of one's own: progress, a log, curves, Ctrl-C as a
/// wish to stop, and checkpoints. The loop says when passes and steps end.
///
/// Of the options, it heeds [`progress`](Options::progress), [`log`](Options::log), [`curve`](Options::curve),
/// [`tensorboard`](Options::tensorboard), [`interruptible`](Options::interruptible), [`checkpoint`](Options::checkpoint) and
/// [`checkpoint_every`](Options::checkpoint_every). The same options may be those of the steps.
///
/// ```
/// use paddle::{Options, Parameters, Sgd, Trainer, Watch, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(x, 1))));
/// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.1)));
/// # let folder = std::env::temp_dir().join(format!("paddle-watch-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let options = Options::default().log(folder.join("run.jsonl")).checkpoint(folder.join("run.checkpoint"));
/// let mut watch = Watch::new("line", ["cost"], &options, trainer.steps(&net)?)?;
/// for pass in 0..3 {
///     watch.begin_pass(pass)?;
///     for batch in [[1.0, 2.0], [3.0, 4.0]] {
///         let cost = trainer.step_with(&net, &mut parameters, batch, &options)?.cost();
///         watch.step(batch.len(), [cost])?;
///     }
///     watch.end_pass()?;
///     watch.keep(&parameters, ((&mut trainer, &net),))?;
///     if watch.interrupted() {
///         break;
///     }
/// }
/// println!("the training has {}", watch.end()?);
/// assert!(folder.join("run.checkpoint").exists());
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), paddle::Error>(())
/// ```
pub struct Watch {
    watchers: Watchers,
    interrupt: Option<Interrupt>,
    keeper: Option<Keeper>,
    every: u64,
    steps: u64,
    /// The numbers of the pass, and of its batches so far.
    at: (usize, usize),
    /// The mean of each figure over the pass.
    means: Vec<Mean>,
    has_ended: bool,
}

impl Watch {
    /// Begins to watch. `name` is that of the loop, and `figures` those of what each step gives: at least one, of which the
    /// first is in the place of the cost. `steps` is the number of steps before, which is not 0 if the loop goes on: then curves
    /// go on, too.
    ///
    /// # Errors
    /// [`Error::Setting`], [`Error::File`] or [`Error::Interrupt`] if what the options ask for cannot be had.
    pub fn new<N: Into<String>>(
        name: &str,
        figures: impl IntoIterator<Item = N>,
        options: &Options,
        steps: u64,
    ) -> Result<Self, Error> {
        options.check()?;
        let names: Vec<String> = figures.into_iter().map(N::into).collect();
        let keeper = options.checkpoint.as_deref().map(Keeper::of).transpose()?;
        let means = vec![Mean::default(); names.len()];
        let mut watchers = Watchers::new(options, name, names, steps)?;
        let interrupt = Interrupt::wanted_by(options)?;
        watchers.see(EventKind::BeginTraining, 0, None)?;
        let every = options.checkpoint_every;
        Ok(Watch { watchers, interrupt, keeper, every, steps, at: (0, 0), means, has_ended: false })
    }

    /// A pass begins. `pass` is its number.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be written.
    pub fn begin_pass(&mut self, pass: usize) -> Result<(), Error> {
        self.at = (pass, 0);
        self.means.fill(Mean::default());
        Ok(self.watchers.see(EventKind::BeginPass { pass }, 0, None)?)
    }

    /// A step ends, for a batch of this many rows. The figures are in the order of their names; those that are left out are
    /// NaN.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be written.
    pub fn step(&mut self, rows: usize, figures: impl IntoIterator<Item = f32>) -> Result<(), Error> {
        let figures: Vec<f32> =
            figures.into_iter().chain(iter::repeat(f32::NAN)).take(self.means.len()).collect();
        for (mean, &value) in self.means.iter_mut().zip(&figures) {
            mean.add(Metric { value, weight: rows as f64 });
        }
        let (pass, batch) = self.at;
        (self.at.1, self.steps) = (batch + 1, self.steps + 1);
        let Some((&cost, metrics)) = figures.split_first() else { return Ok(()) };
        Ok(self.watchers.see(EventKind::EndIteration { pass, batch, cost, metrics }, rows, None)?)
    }

    /// The pass ends.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be written.
    pub fn end_pass(&mut self) -> Result<(), Error> {
        let means: Vec<f32> = self.means.iter().map(Mean::value).collect();
        let (pass, _) = self.at;
        self.at.1 = 0;
        let Some((&cost, metrics)) = means.split_first() else { return Ok(()) };
        Ok(self.watchers.see(EventKind::EndPass { pass, cost, metrics }, 0, None)?)
    }

    /// Whether Ctrl-C was pressed, with [`Options::interruptible`]. The loop is to end then.
    pub fn interrupted(&self) -> bool {
        self.interrupt.as_ref().is_some_and(Interrupt::came)
    }

    /// Writes the checkpoint of the options if one is due: between passes, after every so many steps, and if the loop is
    /// interrupted. It has what [`checkpoint::save`] writes. Returns whether it was written.
    ///
    /// # Errors
    /// Those of [`checkpoint::save`].
    pub fn keep<'a, B: Backend + 'a>(
        &mut self,
        parameters: &Parameters<B>,
        trainings: impl Trainings<'a, B>,
    ) -> Result<bool, Error> {
        let ends = self.at.1 == 0 || self.interrupted();
        let Some(keeper) = self.keeper.as_mut().filter(|_| ends || self.steps.is_multiple_of(self.every))
        else {
            return Ok(false);
        };
        warned(checkpoint::save_by(keeper, parameters, trainings))?;
        self.watchers.keep()?;
        Ok(true)
    }

    /// Runs an action that may print, while the bar is out of the way.
    pub fn aside<R>(&self, action: impl FnOnce() -> R) -> R {
        self.watchers.aside(EventKind::EndTraining, action)
    }

    /// The loop ends. Returns whether it was [interrupted](Ended::Interrupted) or has finished.
    ///
    /// A `Watch` that is dropped instead, because of an error, writes what it has seen so far.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be written.
    pub fn end(mut self) -> Result<Ended, Error> {
        let ended = if self.interrupted() { Ended::Interrupted } else { Ended::Finished };
        self.has_ended = true;
        self.watchers.see(EventKind::EndTraining, 0, Some(ended))?;
        Ok(ended)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.has_ended {
            // The error that ended the loop is the one to report.
            let _ = self.watchers.keep();
        }
    }
}
