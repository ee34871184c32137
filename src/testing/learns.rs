//! The test that a network can learn a batch by heart.

use std::fmt;

use paddle_core::passes::trained;

use crate::Error;
use crate::batch::{Batch, Rows, RowsOf};
use crate::infer::{Draws, measure};
use crate::network::{Network, Trainable};
use crate::options::Options;
use crate::parameters::Parameters;
use crate::stored;
use crate::trainer::Trainer;
use crate::updater::{Adam, Sgd};

/// The learning rates that are tried in turn, as costs and layers have different scales.
const RATES: [f64; 4] = [0.01, 0.001, 0.1, 1.0];

/// The number of steps at each learning rate.
const STEPS: usize = 300;

/// The number of costs that are averaged, since dropout makes single costs vary.
const WINDOW: usize = 10;

/// The part of its size by which the cost has to fall.
const LOSS: f64 = 0.75;

/// Panics unless a network learns these rows by heart. Starting from the parameters of seed 0, it is trained by
/// [`Adam`] on all rows for at most 300 steps, at the learning rates 0.01, 0.001, 0.1 and 1 in turn. At one of them all
/// of this has to happen:
///
/// - The cost falls by three quarters of its size: from 2.3 to 0.575, from −1 to −1.75. Costs are averaged over ten
///   steps: ten before any update, and the last ten. The latter mean also has to be below each of the first ten costs,
///   which differ if the network draws random numbers, as dropout does.
/// - Every parameter changes, except those with `lr = 0.0`.
/// - Every input influences the cost: before or after the training, the cost in inference changes if all rows get the
///   first row's value. Inputs without rows, or with equal values in all rows, are not tested.
///
/// A handful of rows suffices. Their labels should differ, each branch of the network should get some rows, and
/// symmetric pairs, whose gradients cancel, should be avoided. The test finds mistakes that compile: a softmax in front
/// of a loss that has one already, a relu that is never active, a bound that is always reached, a label that only a
/// metric uses. The panic's message has the costs at several steps, the parameters that did not change, the inputs
/// without influence and, for NaN and infinities, the operator that computed them.
///
/// A cost whose minimum is far from 0, such as a cross-entropy with soft labels, cannot fall that far; use
/// [`assert_learns_below`] and say how far it has to fall.
///
/// ```
/// use paddle::network;
/// use paddle::testing::assert_learns;
///
/// let net = network!(|x: Tensor<f32, _, 2>, label: Tensor<i64, _, 1>| {
///     let hidden = fc(x, 16, act = tanh);
///     mean(softmax_with_cross_entropy(fc(hidden, 2), label))
/// });
/// // Whether one of the two numbers is 1, but not both.
/// assert_learns(&net, [([0.0, 0.0], 0), ([0.0, 1.0], 1), ([1.0, 0.0], 1), ([1.0, 1.0], 0)]);
/// ```
///
/// ```should_panic
/// # use paddle::network;
/// # use paddle::testing::assert_learns;
/// let net = network!(|x: Tensor<f32, _, 2>, label: Tensor<i64, _, 1>| {
///     let hidden = fc(x, 16, act = tanh);
///     // The loss takes logits, and these are probabilities.
///     mean(softmax_with_cross_entropy(softmax(fc(hidden, 2)), label))
/// });
/// assert_learns(&net, [([0.0, 0.0], 0), ([0.0, 1.0], 1), ([1.0, 0.0], 1), ([1.0, 1.0], 0)]);
/// ```
#[track_caller]
pub fn assert_learns<S: Trainable>(net: &Network<S>, rows: impl Rows<S>) {
    judge(net, &rows, |first| first - LOSS * first.abs());
}

/// Like [`assert_learns`], but the cost has to fall to `cost` or below, and fall at all.
///
/// ```
/// use paddle::network;
/// use paddle::testing::assert_learns_below;
///
/// // No prediction is better than the label itself, which leaves its entropy: about 0.5.
/// let net = network!(|x: Tensor<f32, _, 2>, label: Tensor<f32, _, 2>| {
///     mean(softmax_with_cross_entropy(fc(x, 2), label, soft_label = true))
/// });
/// assert_learns_below(&net, [([0.0, 1.0], [0.2, 0.8]), ([1.0, 0.0], [0.8, 0.2])], 0.51);
/// ```
#[track_caller]
pub fn assert_learns_below<S: Trainable>(net: &Network<S>, rows: impl Rows<S>, cost: f32) {
    judge(net, &rows, |_| f64::from(cost));
}

#[track_caller]
fn judge<S: Trainable>(net: &Network<S>, rows: &impl Rows<S>, goal: impl Fn(f64) -> f64) {
    match learn(net, rows, goal) {
        Ok(None) => {}
        Ok(Some(failure)) => panic!("{failure}"),
        Err(error) => panic!("`{}` cannot be trained on these rows: {error}", S::NAME),
    }
}

/// The reason why a network does not learn; `None` if it learns. `goal` gives the cost to reach for the cost at the
/// start.
fn learn<S: Trainable>(
    net: &Network<S>,
    rows: &impl Rows<S>,
    goal: impl Fn(f64) -> f64,
) -> Result<Option<Failure>, Error> {
    let first = untrained(net, rows)?;
    let lowest = first.iter().copied().fold(f64::INFINITY, f64::min);
    let goal = goal(mean(&first)).min(lowest.next_down());
    let mut runs: Vec<Run> = Vec::new();
    for rate in RATES {
        runs.push(Run::new(net, rows, rate, goal)?);
        if runs.iter().any(|run| run.has_learned || run.costs.len() == 1) {
            break;
        }
    }
    let has_learned = runs.iter().any(|run| run.has_learned);
    let considered = if has_learned { &runs[runs.len() - 1..] } else { &runs[..] };
    let mut unmoved = considered[0].unmoved.clone();
    unmoved.retain(|name| considered.iter().all(|run| run.unmoved.contains(name)));
    let mut idle = considered[0].idle.clone();
    idle.retain(|name| considered.iter().all(|run| run.idle.contains(name)));
    if has_learned && unmoved.is_empty() && idle.is_empty() {
        return Ok(None);
    }
    let not_finite = match considered.iter().find(|run| run.ends_not_finite()) {
        Some(run) => not_finite(net, rows, run)?,
        None => None,
    };
    let network = S::NAME.to_string();
    let start = mean(&first);
    Ok(Some(Failure { network, has_learned, start, goal, runs, not_finite, unmoved, idle }))
}

/// The costs of steps that update nothing.
fn untrained<S: Trainable>(net: &Network<S>, rows: &impl Rows<S>) -> Result<Vec<f64>, Error> {
    let (mut parameters, mut trainer) = (Parameters::create(net)?, Trainer::new(Sgd::new(0.0)));
    let options = Options::default().allow_nan();
    let cost = |_| Ok(trainer.step_with(net, &mut parameters, rows, &options)?.cost().into());
    (0..WINDOW).map(cost).collect()
}

fn mean(costs: &[f64]) -> f64 {
    costs.iter().sum::<f64>() / costs.len() as f64
}

/// The result of a training at one learning rate.
struct Run {
    rate: f64,
    /// The cost of each step, before its update.
    costs: Vec<f64>,
    has_learned: bool,
    /// The parameters that did not change.
    unmoved: Vec<String>,
    /// The inputs without influence on the cost.
    idle: Vec<String>,
}

impl Run {
    /// Trains until the cost reaches the goal or is not finite.
    fn new<S: Trainable>(net: &Network<S>, rows: &impl Rows<S>, rate: f64, goal: f64) -> Result<Self, Error> {
        let (before, mut parameters) = (Parameters::create(net)?, Parameters::create(net)?);
        let mut trainer = Trainer::new(Adam::new(rate));
        let (mut costs, mut has_learned) = (Vec::new(), false);
        let options = Options::default().allow_nan();
        while costs.len() < STEPS && !has_learned {
            let cost = f64::from(trainer.step_with(net, &mut parameters, rows, &options)?.cost());
            costs.push(cost);
            if !cost.is_finite() {
                break;
            }
            has_learned = costs.last_chunk::<WINDOW>().is_some_and(|last| mean(last) <= goal);
        }
        let mut idle = idle(net, &before, rows)?;
        if !idle.is_empty() {
            let after = self::idle(net, &parameters, rows)?;
            idle.retain(|name| after.contains(name));
        }
        let unmoved = unmoved(net, &before, &parameters)?;
        Ok(Run { rate, costs, has_learned, unmoved, idle })
    }

    fn ends_not_finite(&self) -> bool {
        self.costs.last().is_some_and(|cost| !cost.is_finite())
    }
}

/// The parameters to be trained that have the same bits in both sets.
fn unmoved<S: Trainable>(
    net: &Network<S>,
    before: &Parameters,
    after: &Parameters,
) -> Result<Vec<String>, Error> {
    let program = net.program()?;
    let values = |parameters: &Parameters, stored| {
        Ok::<_, Error>(stored::values(parameters.backend(), parameters.values()?, stored)?)
    };
    // Both sets are of the same network, and have the same places.
    let mut unmoved = Vec::new();
    for name in trained(program)?.into_iter().map(|var| &program.var(var).name) {
        if let Some(stored) = before.storage().find(name)
            && values(before, stored)?.has_bits_of(&values(after, stored)?)
        {
            unmoved.push(name.clone());
        }
    }
    Ok(unmoved)
}

/// The inputs without influence on the cost, for these parameters: the cost stays the same number if all rows get the
/// first row's value of the input.
fn idle<S: Trainable>(
    net: &Network<S>,
    parameters: &Parameters,
    rows: &impl Rows<S>,
) -> Result<Vec<String>, Error> {
    let cost = |batch: &Batch<S>| {
        let mut found = 0.0;
        let draws = Draws { seed: 0, step: 0 };
        let rows = RowsOf::<S, _>::new(batch);
        measure(net.model()?, parameters, &rows, draws, &mut |_, cost, _| found = cost)?;
        Ok::<_, Error>(found)
    };
    let (batch, mut idle) = (Batch::of(net, rows)?, Vec::new());
    let whole = cost(&batch)?;
    for (at, input) in net.model()?.signature.inputs.iter().enumerate() {
        let Some(batch) = batch.with_first(at)? else { continue };
        // A value that makes the batch invalid has influence, too.
        if cost(&batch).is_ok_and(|cost| cost.to_bits() == whole.to_bits()) {
            idle.push(input.name.clone());
        }
    }
    Ok(idle)
}

/// The operator that computed the number which ended a run.
fn not_finite<S: Trainable>(
    net: &Network<S>,
    rows: &impl Rows<S>,
    run: &Run,
) -> Result<Option<String>, Error> {
    let (mut parameters, options) = (Parameters::create(net)?, Options::default().check_numbers());
    let mut trainer = Trainer::new(Adam::new(run.rate));
    let mut step = |_| trainer.step_with(net, &mut parameters, rows, &options).err();
    Ok((0..run.costs.len()).find_map(&mut step).map(|error| error.to_string()))
}

/// The findings of a failed test.
struct Failure {
    network: String,
    has_learned: bool,
    start: f64,
    goal: f64,
    runs: Vec<Run>,
    not_finite: Option<String>,
    unmoved: Vec<String>,
    idle: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { network, start, goal, .. } = self;
        if self.has_learned {
            write!(f, "the cost of `{network}` falls, but not all of it takes part")?;
        } else {
            write!(
                f,
                "`{network}` does not learn these rows: its cost is {start:.6} and has to fall to {goal:.6}"
            )?;
        }
        for Run { rate, costs, .. } in &self.runs {
            write!(f, "\nAdam({rate}):")?;
            // The costs at powers of ten and three times these, and the last cost.
            let shown = [0, 1, 3, 10, 30, 100].into_iter().filter(|at| at + 1 < costs.len());
            for at in shown.chain([costs.len() - 1]) {
                let separator = if at == 0 { "" } else { "," };
                write!(f, "{separator} {:.6} in step {at}", costs[at])?;
            }
        }
        if let Some(error) = &self.not_finite {
            write!(f, "\n{error}")?;
        }
        if !self.unmoved.is_empty() {
            write!(
                f,
                "\nparameters that did not move, as their gradient is 0: `{}`; a relu that is never active, a bound that is \
                 always reached or a branch without rows cuts them off, or the rows cancel each other",
                self.unmoved.join("`, `")
            )?;
        }
        if !self.idle.is_empty() {
            write!(
                f,
                "\ninputs without influence on the cost: `{}`; it is the same when all rows have the first row's value",
                self.idle.join("`, `")
            )?;
        }
        Ok(())
    }
}
