//! The loop of training, which decides on the order of events.
//!
//! It knows nothing of networks: it takes batches from a reader, passes them to a [`Training`], and reports each event
//! to it. The rules:
//!
//! - `BeginTraining` comes first and `EndTraining` last, also after a stop, but not after an error.
//! - `BeginPass` comes before a pass's first batch. `EndPass` comes at a marker and at the end of the reader, if there
//!   were batches since the last one.
//! - `BeginIteration` and `EndIteration` enclose each batch. A training that has several steps under way, as on an asynchronous
//!   cluster, begins some before the first one ends; they end in their order, and all of a pass before its `EndPass`.
//! - After a stop only `EndTraining` follows; steps that are under way count. A stop in `BeginPass` or `BeginIteration` drops the batch.
//! - The call returns how it [ended](Ended). A stop in `EndTraining` comes too late and changes nothing.
//! - A reader without batches is an error, and so is a failure of the reader.

use std::error::Error;
use std::fmt;
use std::ops::ControlFlow;

use crate::event::EventKind;
use crate::metrics::Mean;
pub use crate::metrics::Metric;
pub use crate::position::Position;
use crate::reader::{Failure, IntoItem, Item};

/// The training that [`run`] drives.
///
/// ```
/// use paddle::event::EventKind;
/// use paddle::reader::{DataSet, Reader};
/// use paddle::train_loop::{Ended, Metric, Step, Training, run};
/// use std::error::Error;
/// use std::ops::ControlFlow;
///
/// /// Finds the mean of what it reads by going a part of the way to each number.
/// struct Mean(f32);
///
/// impl Training for Mean {
///     type Batch = Vec<f32>;
///     type Error = Box<dyn Error>;
///
///     fn step(&mut self, batch: Vec<f32>, _metrics: &mut [Metric]) -> Result<Step, Box<dyn Error>> {
///         let cost = batch.iter().map(|x| (x - self.0).powi(2)).sum::<f32>() / batch.len() as f32;
///         for x in &batch {
///             self.0 += 0.1 * (x - self.0);
///         }
///         Ok(Step { rows: batch.len(), cost })
///     }
///
///     fn handle(&mut self, event: EventKind<'_>) -> Result<ControlFlow<()>, Box<dyn Error>> {
///         Ok(match event {
///             EventKind::EndPass { cost, .. } if cost < 0.5 => ControlFlow::Break(()),
///             _ => ControlFlow::Continue(()),
///         })
///     }
/// }
///
/// let mut mean = Mean(0.0);
/// let mut passes = 0;
/// let ended = run(&mut mean, [4.5, 5.0, 5.5].passes(1000).batch(2), &mut passes)?;
/// assert_eq!(ended, Ended::Stopped);
/// assert!((mean.0 - 5.0).abs() < 0.7);
/// assert!(passes < 1000);
/// # Ok::<(), Box<dyn Error>>(())
/// ```
pub trait Training {
    /// The data of the reader's items.
    type Batch;
    /// The error of a training.
    type Error: From<NoBatch> + From<ReaderFailed>;

    /// The number of metrics that each step reports.
    fn metrics(&self) -> usize {
        0
    }

    /// Trains on one batch, update included, and writes its metrics.
    ///
    /// # Errors
    /// Any error of the step; it ends the training.
    fn step(&mut self, batch: Self::Batch, metrics: &mut [Metric]) -> Result<Step, Self::Error>;

    /// Begins to train on one batch. Returns the report if the step has ended; a training that has several steps under way
    /// gives it later, by [`ended`](Self::ended).
    ///
    /// # Errors
    /// Any error of the step; it ends the training.
    fn begin(&mut self, batch: Self::Batch, metrics: &mut [Metric]) -> Result<Option<Step>, Self::Error> {
        self.step(batch, metrics).map(Some)
    }

    /// The report of the first step that has begun and whose report was not given. `None` if there is no such step, or if
    /// another one may begin before, unless `all` of them are to end.
    ///
    /// # Errors
    /// Any error of the step; it ends the training.
    fn ended(&mut self, _all: bool, _metrics: &mut [Metric]) -> Result<Option<Step>, Self::Error> {
        Ok(None)
    }

    /// Called after each step and each pass, and when the training is `stopped`, with the position from which
    /// [`resume`] can continue.
    ///
    /// # Errors
    /// Any error, such as a checkpoint that cannot be written; it ends the training.
    fn reached(&mut self, _position: &Position, _stopped: bool) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Called at each event. `Break` stops the training.
    ///
    /// # Errors
    /// Any error that ends the training other than by a stop: no event follows.
    fn handle(&mut self, event: EventKind<'_>) -> Result<ControlFlow<()>, Self::Error>;
}

/// How a training ended.
///
/// ```
/// assert_eq!(paddle::Ended::Interrupted.to_string(), "interrupted");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// The reader ended.
    Finished,
    /// A handler stopped it.
    Stopped,
    /// Ctrl-C stopped it ([`Options::interruptible`](crate::Options::interruptible)), whether or not a handler stopped
    /// it, too.
    Interrupted,
}

impl fmt::Display for Ended {
    /// `finished`, `stopped` or `interrupted`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ended::Finished => "finished",
            Ended::Stopped => "stopped",
            Ended::Interrupted => "interrupted",
        })
    }
}

/// The report of one step, besides its metrics.
///
/// [`Training`] has an example, and so has [`resume`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The number of rows of the batch, which is its weight in the means of the pass.
    pub rows: usize,
    /// The cost before the update.
    pub cost: f32,
}

/// The reader ended without a batch.
///
/// ```
/// use paddle::{Error, Options, Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(x, 1))));
/// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.1)));
/// let nothing: [Vec<f32>; 0] = [];
/// let trained = trainer.train(&net, &mut parameters, nothing, Options::default(), |_| Ok(()));
/// assert!(matches!(trained, Err(Error::NoBatch(_))));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoBatch;

impl fmt::Display for NoBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reader ended without a batch; training needs at least one (was it read before?)")
    }
}

impl Error for NoBatch {}

/// The reader yielded a failure.
///
/// ```
/// use paddle::reader::Reader;
/// use paddle::{Error, Options, Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(x, 1))));
/// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.1)));
/// let reader = ["1", "2", "two"].iter().try_map_data(|text| text.parse::<f32>()).batch(2);
/// let trained = trainer.train(&net, &mut parameters, reader, Options::default(), |_| Ok(()));
/// let Err(Error::Reader(failed)) = trained else { panic!("`two` is no number") };
/// assert_eq!(failed.to_string(), "pass 0, batch 1: the reader failed: invalid float literal");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaderFailed {
    /// The number of the pass.
    pub pass: usize,
    /// The number of the batch within the pass.
    pub batch: usize,
    /// The failure.
    pub failure: Failure,
}

impl fmt::Display for ReaderFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReaderFailed { pass, batch, failure } = self;
        write!(f, "pass {pass}, batch {batch}: the reader failed: {failure}")
    }
}

impl Error for ReaderFailed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.failure.error())
    }
}

/// Trains on all batches of `reader`.
///
/// `passes` counts the passes that have begun, over all calls with the same counter. A pass that a stop or an error cut
/// short is not continued: the next call begins a new one.
///
/// [`Training`] has an example.
///
/// # Errors
/// The errors of the training's own functions, [`NoBatch`] if the reader has no batch, and [`ReaderFailed`] if it
/// fails.
pub fn run<T: Training>(
    training: &mut T,
    reader: impl IntoIterator<Item: IntoItem<Data = T::Batch>>,
    passes: &mut usize,
) -> Result<Ended, T::Error> {
    let position = Position::before(*passes);
    resume(training, reader, position, passes)
}

/// Continues a training that [`run`] began with the same reader.
///
/// After `BeginTraining`, it skips the items in front of the position without any event. Then come the events that
/// would have come next.
///
/// # Errors
/// Those of [`run`], and [`ReaderFailed`] if the reader ends before the position.
///
/// ```
/// use paddle::event::EventKind;
/// use paddle::train_loop::{Metric, NoBatch, Position, ReaderFailed, Step, Training, resume, run};
/// use std::ops::ControlFlow;
///
/// /// Adds up what it reads, and remembers where it was after the first batch.
/// #[derive(Default)]
/// struct Sum(f32, Option<(f32, Position)>);
///
/// #[derive(Debug)]
/// struct Failed;
///
/// impl From<NoBatch> for Failed {
///     fn from(_: NoBatch) -> Self {
///         Failed
///     }
/// }
///
/// impl From<ReaderFailed> for Failed {
///     fn from(_: ReaderFailed) -> Self {
///         Failed
///     }
/// }
///
/// impl Training for Sum {
///     type Batch = Vec<f32>;
///     type Error = Failed;
///
///     fn step(&mut self, batch: Vec<f32>, _: &mut [Metric]) -> Result<Step, Failed> {
///         self.0 += batch.iter().sum::<f32>();
///         Ok(Step { rows: batch.len(), cost: 0.0 })
///     }
///
///     fn reached(&mut self, position: &Position, _stopped: bool) -> Result<(), Failed> {
///         self.1.get_or_insert_with(|| (self.0, position.clone()));
///         Ok(())
///     }
///
///     fn handle(&mut self, _: EventKind<'_>) -> Result<ControlFlow<()>, Failed> {
///         Ok(ControlFlow::Continue(()))
///     }
/// }
///
/// let reader = || [vec![1.0, 2.0], vec![3.0], vec![4.0]];
/// let mut whole = Sum::default();
/// run(&mut whole, reader(), &mut 0)?;
/// let (so_far, position) = whole.1.clone().unwrap();
/// assert_eq!((so_far, position.pass(), position.batches()), (3.0, 0, 1));
/// let mut rest = Sum(so_far, None);
/// resume(&mut rest, reader(), position, &mut 0)?;
/// assert_eq!((rest.0, whole.0), (10.0, 10.0));
/// # Ok::<(), Failed>(())
/// ```
pub fn resume<T: Training>(
    training: &mut T,
    reader: impl IntoIterator<Item: IntoItem<Data = T::Batch>>,
    mut position: Position,
    passes: &mut usize,
) -> Result<Ended, T::Error> {
    let metrics = training.metrics();
    position.means.resize(1 + metrics, Mean::default());
    *passes = position.pass + usize::from(position.batches > 0);
    let measured = vec![Metric::default(); metrics];
    let mut run = Run { training, passes, position, begun: 0, measured, metrics: vec![0.0; metrics] };
    let ended = match run.read(reader) {
        Ok(()) => Ended::Finished,
        Err(Halt::Stop) => {
            while let Some(step) = run.training.ended(true, &mut run.measured)? {
                run.advance(step);
            }
            run.training.reached(&run.position, true)?;
            Ended::Stopped
        }
        Err(Halt::Error(error)) => return Err(error),
    };
    let _too_late = run.training.handle(EventKind::EndTraining)?;
    Ok(ended)
}

/// The reason why the loop left its reader.
enum Halt<E> {
    Stop,
    Error(E),
}

impl<E> From<E> for Halt<E> {
    fn from(error: E) -> Self {
        Self::Error(error)
    }
}

/// Reports an event, and turns a handler's request to stop into a [`Halt`].
fn tell<T: Training>(training: &mut T, event: EventKind<'_>) -> Result<(), Halt<T::Error>> {
    match training.handle(event)? {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Halt::Stop),
    }
}

/// The state of one call of [`run`].
struct Run<'a, T> {
    training: &'a mut T,
    passes: &'a mut usize,
    position: Position,
    /// The number of steps that are under way: the batches behind the position.
    begun: usize,
    /// The metrics of the last step, with their weights.
    measured: Vec<Metric>,
    /// The metrics of the last step or pass.
    metrics: Vec<f32>,
}

impl<T: Training> Run<'_, T> {
    fn read(
        &mut self,
        reader: impl IntoIterator<Item: IntoItem<Data = T::Batch>>,
    ) -> Result<(), Halt<T::Error>> {
        tell(self.training, EventKind::BeginTraining)?;
        let mut reader = reader.into_iter();
        let skipped = self.position.skip(&mut reader);
        skipped.map_err(|failure| Halt::Error(self.failed(failure).into()))?;
        for item in reader {
            match item.into_item() {
                Item::Data(batch) => self.iteration(batch)?,
                Item::EndPass => self.end_pass()?,
                Item::Failed(failure) => return Err(Halt::Error(self.failed(failure).into())),
            }
        }
        self.end_pass()?;
        if self.position.pass == self.position.first { Err(Halt::Error(NoBatch.into())) } else { Ok(()) }
    }

    /// A failure with its place: that of the batch that would have come next.
    fn failed(&self, failure: Failure) -> ReaderFailed {
        ReaderFailed { pass: self.position.pass, batch: self.position.batches + self.begun, failure }
    }

    fn iteration(&mut self, batch: T::Batch) -> Result<(), Halt<T::Error>> {
        let (pass, index) = (self.position.pass, self.position.batches + self.begun);
        if index == 0 {
            *self.passes = pass + 1;
            tell(self.training, EventKind::BeginPass { pass })?;
        }
        tell(self.training, EventKind::BeginIteration { pass, batch: index })?;
        let ended = self.training.begin(batch, &mut self.measured)?;
        self.begun += 1;
        if let Some(step) = ended {
            self.end_iteration(step)?;
        }
        self.end_iterations(false)
    }

    /// Reports the steps that have ended: as many as have to before another one begins, or all.
    fn end_iterations(&mut self, all: bool) -> Result<(), Halt<T::Error>> {
        while let Some(step) = self.training.ended(all, &mut self.measured)? {
            self.end_iteration(step)?;
        }
        Ok(())
    }

    /// Goes behind the first step that is under way.
    fn advance(&mut self, Step { rows, cost }: Step) {
        let of_cost = Metric { value: cost, weight: rows as f64 };
        self.begun = self.begun.saturating_sub(1);
        self.position.advance(of_cost, self.measured.iter().copied());
    }

    fn end_iteration(&mut self, step: Step) -> Result<(), Halt<T::Error>> {
        let (pass, batch, cost) = (self.position.pass, self.position.batches, step.cost);
        self.advance(step);
        self.metrics.iter_mut().zip(&self.measured).for_each(|(to, metric)| *to = metric.value);
        let metrics = &self.metrics;
        tell(self.training, EventKind::EndIteration { pass, batch, cost, metrics })?;
        Ok(self.training.reached(&self.position, false)?)
    }

    fn end_pass(&mut self) -> Result<(), Halt<T::Error>> {
        self.end_iterations(true)?;
        if self.position.batches == 0 {
            return Ok(());
        }
        let pass = self.position.pass;
        (self.position.pass, self.position.batches) = (pass + 1, 0);
        let (cost, metrics) = (self.position.means[0].value(), &mut self.metrics);
        metrics.iter_mut().zip(&self.position.means[1..]).for_each(|(to, mean)| *to = mean.value());
        tell(self.training, EventKind::EndPass { pass, cost, metrics })?;
        Ok(self.training.reached(&self.position, false)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use Item::{Data, EndPass};

    /// Records the calls. A batch is `(rows, cost)`; the only metric is ten times the cost.
    #[derive(Default)]
    struct Recorder {
        trace: Vec<String>,
        stop_at: &'static str,
        fail_at: &'static str,
    }

    #[derive(Debug, PartialEq)]
    enum Failed {
        NoBatch,
        Reader(ReaderFailed),
        At(String),
    }

    impl From<ReaderFailed> for Failed {
        fn from(failed: ReaderFailed) -> Self {
            Self::Reader(failed)
        }
    }

    impl From<NoBatch> for Failed {
        fn from(NoBatch: NoBatch) -> Self {
            Self::NoBatch
        }
    }

    impl Recorder {
        fn record(&mut self, moment: String) -> Result<ControlFlow<()>, Failed> {
            self.trace.push(moment.clone());
            if !self.fail_at.is_empty() && moment.starts_with(self.fail_at) {
                return Err(Failed::At(moment));
            }
            let stop = !self.stop_at.is_empty() && moment.starts_with(self.stop_at);
            Ok(if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        }
    }

    impl Training for Recorder {
        type Batch = (usize, f32);
        type Error = Failed;

        fn metrics(&self) -> usize {
            1
        }

        fn step(&mut self, (rows, cost): (usize, f32), metrics: &mut [Metric]) -> Result<Step, Failed> {
            metrics[0] = Metric { value: 10.0 * cost, weight: rows as f64 };
            self.record(format!("step({rows})")).map(|_| Step { rows, cost })
        }

        fn handle(&mut self, event: EventKind<'_>) -> Result<ControlFlow<()>, Failed> {
            self.record(match event {
                EventKind::BeginTraining => "BT".to_string(),
                EventKind::BeginPass { pass } => format!("BP{pass}"),
                EventKind::BeginIteration { pass, batch } => format!("BI{pass}.{batch}"),
                EventKind::EndIteration { pass, batch, cost, metrics } => {
                    format!("EI{pass}.{batch}={cost},{}", metrics[0])
                }
                EventKind::EndPass { pass, cost, metrics } => format!("EP{pass}={cost},{}", metrics[0]),
                EventKind::EndTraining => "ET".to_string(),
            })
        }
    }

    /// Has up to two steps under way before the first one ends.
    #[derive(Default)]
    struct Ahead(Recorder, VecDeque<(usize, f32)>);

    impl Training for Ahead {
        type Batch = (usize, f32);
        type Error = Failed;

        fn metrics(&self) -> usize {
            1
        }

        fn step(&mut self, batch: (usize, f32), metrics: &mut [Metric]) -> Result<Step, Failed> {
            self.0.step(batch, metrics)
        }

        fn begin(&mut self, batch: (usize, f32), _: &mut [Metric]) -> Result<Option<Step>, Failed> {
            self.1.push_back(batch);
            Ok(None)
        }

        fn ended(&mut self, all: bool, metrics: &mut [Metric]) -> Result<Option<Step>, Failed> {
            match all || self.1.len() > 2 {
                true => self.1.pop_front().map(|batch| self.step(batch, metrics)).transpose(),
                false => Ok(None),
            }
        }

        fn reached(&mut self, position: &Position, stopped: bool) -> Result<(), Failed> {
            if stopped {
                self.0.trace.push(format!("at {}", position.batches()));
            }
            Ok(())
        }

        fn handle(&mut self, event: EventKind<'_>) -> Result<ControlFlow<()>, Failed> {
            self.0.handle(event)
        }
    }

    #[test]
    fn steps_that_are_under_way_end_in_their_order_and_before_their_pass() {
        let batches = || (0..4).map(|k| Data((1, k as f32))).chain([EndPass]);
        let mut ahead = Ahead::default();
        run(&mut ahead, batches(), &mut 0).unwrap();
        let ended = |k: usize| format!("step(1) EI0.{k}={k},{k}0").replace(",00", ",0");
        let first = format!("BT BP0 BI0.0 BI0.1 BI0.2 {} BI0.3", ended(0));
        let rest = format!("{} {} {} EP0=1.5,15 ET", ended(1), ended(2), ended(3));
        assert_eq!(ahead.0.trace.join(" "), format!("{first} {rest}"));
        // Behind a stop those that are under way are done, without an event.
        let mut ahead = Ahead(Recorder { stop_at: "EI0.0", ..Recorder::default() }, VecDeque::new());
        run(&mut ahead, batches(), &mut 0).unwrap();
        let first = format!("BT BP0 BI0.0 BI0.1 BI0.2 {}", ended(0));
        assert_eq!(ahead.0.trace.join(" "), format!("{first} step(1) step(1) at 3 ET"));
    }

    type Items = Vec<Item<(usize, f32)>>;

    fn trace(items: Items) -> String {
        let mut recorder = Recorder::default();
        assert_eq!(run(&mut recorder, items, &mut 0), Ok(Ended::Finished));
        recorder.trace.join(" ")
    }

    /// An endless reader with two batches a pass.
    fn endless() -> impl Iterator<Item = Item<(usize, f32)>> {
        [Data((1, 1.0)), Data((1, 2.0)), EndPass].into_iter().cycle()
    }

    fn stopped(stop_at: &'static str) -> String {
        let mut recorder = Recorder { stop_at, ..Recorder::default() };
        assert_eq!(run(&mut recorder, endless(), &mut 0), Ok(Ended::Stopped));
        recorder.trace.join(" ")
    }

    fn failed(fail_at: &'static str) -> String {
        let mut recorder = Recorder { fail_at, ..Recorder::default() };
        let error = run(&mut recorder, endless().take(6), &mut 0).unwrap_err();
        assert_eq!(error, Failed::At(recorder.trace.last().unwrap().clone()));
        recorder.trace.join(" ")
    }

    const ONE_PASS: &str = "BT BP0 BI0.0 step(1) EI0.0=2,20 BI0.1 step(3) EI0.1=6,60 EP0=5,50 ET";

    #[test]
    fn the_end_of_the_reader_ends_the_pass() {
        assert_eq!(trace(vec![Data((1, 2.0)), Data((3, 6.0))]), ONE_PASS);
    }

    #[test]
    fn a_marker_at_the_end_changes_nothing() {
        assert_eq!(trace(vec![Data((1, 2.0)), Data((3, 6.0)), EndPass]), ONE_PASS);
    }

    #[test]
    fn markers_without_batches_before_them_fire_nothing() {
        let items = vec![EndPass, EndPass, Data((1, 2.0)), Data((3, 6.0)), EndPass, EndPass];
        assert_eq!(trace(items), ONE_PASS);
    }

    #[test]
    fn plain_batches_are_one_pass() {
        struct Rows(Vec<usize>);
        impl Training for Rows {
            type Batch = Vec<u8>;
            type Error = Failed;
            fn step(&mut self, batch: Vec<u8>, _: &mut [Metric]) -> Result<Step, Failed> {
                self.0.push(batch.len());
                Ok(Step { rows: batch.len(), cost: 0.0 })
            }
            fn handle(&mut self, _: EventKind<'_>) -> Result<ControlFlow<()>, Failed> {
                Ok(ControlFlow::Continue(()))
            }
        }
        let (mut rows, mut passes) = (Rows(Vec::new()), 0);
        run(&mut rows, [vec![1, 2], vec![3]], &mut passes).unwrap();
        assert_eq!((rows.0, passes), (vec![2, 1], 1));
    }

    #[test]
    fn a_marker_in_the_middle_ends_a_pass_and_the_next_starts_afresh() {
        assert_eq!(
            trace(vec![Data((2, 1.0)), EndPass, EndPass, Data((1, 4.0)), Data((1, 8.0))]),
            "BT BP0 BI0.0 step(2) EI0.0=1,10 EP0=1,10 \
             BP1 BI1.0 step(1) EI1.0=4,40 BI1.1 step(1) EI1.1=8,80 EP1=6,60 ET"
        );
    }

    #[test]
    fn passes_are_numbered_across_calls() {
        let (mut recorder, mut passes) = (Recorder::default(), 7);
        run(&mut recorder, [Data((1, 0.0))], &mut passes).unwrap();
        run(&mut recorder, [Data((1, 0.0))], &mut passes).unwrap();
        assert_eq!(passes, 9);
        assert_eq!(
            recorder.trace.join(" "),
            "BT BP7 BI7.0 step(1) EI7.0=0,0 EP7=0,0 ET BT BP8 BI8.0 step(1) EI8.0=0,0 EP8=0,0 ET"
        );
    }

    #[test]
    fn a_reader_without_a_batch_is_an_error() {
        for items in [vec![], vec![EndPass, EndPass]] {
            let (mut recorder, mut passes) = (Recorder::default(), 0);
            assert_eq!(run(&mut recorder, items, &mut passes), Err(Failed::NoBatch));
            assert_eq!((recorder.trace.join(" ").as_str(), passes), ("BT", 0));
        }
    }

    #[test]
    fn a_failure_ends_the_training_with_its_place() {
        let failure = || Item::Failed("torn".into());
        let end = |items: Items| {
            let mut recorder = Recorder::default();
            let Err(Failed::Reader(failed)) = run(&mut recorder, items, &mut 0) else {
                panic!("it has not failed")
            };
            format!("{}; {failed}", recorder.trace.join(" "))
        };
        assert_eq!(end(vec![failure()]), "BT; pass 0, batch 0: the reader failed: torn");
        assert_eq!(
            end(vec![Data((1, 2.0)), EndPass, failure()]),
            "BT BP0 BI0.0 step(1) EI0.0=2,20 EP0=2,20; pass 1, batch 0: the reader failed: torn"
        );
        assert_eq!(
            end(vec![Data((1, 2.0)), failure(), Data((1, 2.0))]),
            "BT BP0 BI0.0 step(1) EI0.0=2,20; pass 0, batch 1: the reader failed: torn"
        );
    }

    #[test]
    fn means_over_no_rows_are_zero() {
        assert_eq!(trace(vec![Data((0, 3.0))]), "BT BP0 BI0.0 step(0) EI0.0=3,30 EP0=0,0 ET");
    }

    #[test]
    fn a_stop_ends_the_training_and_nothing_else() {
        let (first, second) = ("BP0 BI0.0 step(1) EI0.0=1,10", "BI0.1 step(1) EI0.1=2,20");
        assert_eq!(stopped("BT"), "BT ET");
        assert_eq!(stopped("BP0"), "BT BP0 ET");
        assert_eq!(stopped("BI0.0"), "BT BP0 BI0.0 ET");
        assert_eq!(stopped("EI0.0"), format!("BT {first} ET"));
        assert_eq!(stopped("EI0.1"), format!("BT {first} {second} ET"));
        assert_eq!(stopped("EP0"), format!("BT {first} {second} EP0=1.5,15 ET"));
        assert_eq!(stopped("BP1"), format!("BT {first} {second} EP0=1.5,15 BP1 ET"));
    }

    #[test]
    fn a_stop_at_the_end_of_training_is_without_effect() {
        let mut recorder = Recorder { stop_at: "ET", ..Recorder::default() };
        let ended = run(&mut recorder, [Data((1, 2.0)), Data((3, 6.0))], &mut 0);
        assert_eq!((ended, recorder.trace.join(" ").as_str()), (Ok(Ended::Finished), ONE_PASS));
    }

    #[test]
    fn a_stop_before_reading_asks_nothing_of_the_reader() {
        let mut recorder = Recorder { stop_at: "BT", ..Recorder::default() };
        let reader = std::iter::from_fn(|| -> Option<Item<_>> { panic!("read after a stop") });
        run(&mut recorder, reader, &mut 0).unwrap();
    }

    #[test]
    fn an_unfinished_pass_is_not_taken_up_again() {
        let mut passes = 0;
        let mut recorder = Recorder { stop_at: "EI0.0", ..Recorder::default() };
        run(&mut recorder, endless(), &mut passes).unwrap();
        recorder.trace.clear();
        run(&mut recorder, endless().take(1), &mut passes).unwrap();
        assert_eq!(recorder.trace.join(" "), "BT BP1 BI1.0 step(1) EI1.0=1,10 EP1=1,10 ET");
    }

    #[test]
    fn after_an_error_nothing_fires() {
        let first = "BP0 BI0.0 step(1) EI0.0=1,10 BI0.1 step(1) EI0.1=2,20";
        assert_eq!(failed("BT"), "BT");
        assert_eq!(failed("BP0"), "BT BP0");
        assert_eq!(failed("BI0.0"), "BT BP0 BI0.0");
        assert_eq!(failed("step"), "BT BP0 BI0.0 step(1)");
        assert_eq!(failed("EI0.0"), "BT BP0 BI0.0 step(1) EI0.0=1,10");
        assert_eq!(failed("EP0"), format!("BT {first} EP0=1.5,15"));
        assert!(failed("ET").ends_with("EP1=1.5,15 ET"));
    }
}
