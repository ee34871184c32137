//! A training step whose batch is cut into shards.
//!
//! Each shard is computed alone, forward and backward, and its gradients are added to sums, in the order of a tree over
//! the shards. Then the parameters are updated once. So the result depends on the number of shards, but not on the
//! devices that compute them.

use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paddle_core::ops::{GradientError, Program};
use paddle_core::passes::ShardedTraining;
use paddle_core::passes::accumulate::fed_by_rows;
use paddle_core::passes::optimize::Settings;
use paddle_core::passes::shard::tree::Joining;
use paddle_core::passes::shard::{
    ShardInput, ShardNumber, rows_of_shard, shards_with_rows, share_of_shard, weight_of_shard,
};
use paddle_core::plan::{
    Backend, Buffers, Exchange, ExchangeError, Executor, Feed, HostSlice, Part, RunError,
};
use paddle_core::program::RowsId;

use super::plan::scalars;
use crate::Error;
use crate::batch::{AnyRows, Cut, Table};
use crate::element::Values;
use crate::metrics::{MetricSums, Metrics};
use crate::model::Model;
use crate::options::Options;
use crate::parameters::Parameters;
use crate::row_sums::SentRows;
use crate::session::{Session, fed, for_device, scalar};
use crate::updater::Updater;
use crate::updater::states::States;

/// The parts of a step in shards, beside the session that computes one shard.
pub(super) struct Shards<B: Backend> {
    /// Updates the parameters from the sums of the gradients.
    pub(super) updating: Executor<B>,
    /// The tables that it updates from the rows of their gradients.
    tables: Vec<String>,
    /// What computes a shard sends the rows here.
    rows: Rows,
    fed: FedShards,
    /// How the gradient of a shard joins the sums.
    joining: Vec<Values>,
    metrics: MetricSums,
}

/// Where the rows of sparse gradients meet: those that compute shards put them in, and the update takes them out.
#[derive(Clone, Default)]
struct Rows(Arc<Mutex<SentRows>>);

impl Rows {
    fn open(&self) -> MutexGuard<'_, SentRows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exchange for Rows {
    fn send_rows(
        &mut self,
        _: u32,
        piece: &str,
        ids: &[i64],
        rows: HostSlice<'_>,
    ) -> Result<(), ExchangeError> {
        self.open().add(piece, ids, rows).map(drop)
    }
}

/// What is fed for each shard of a batch: its rows, and numbers about them.
#[derive(Debug)]
pub(crate) struct FedShards {
    count: NonZero<u32>,
    cut: Cut,
    inputs: Vec<ShardInput>,
    /// The values of `inputs`.
    numbers: Vec<Values>,
}

impl FedShards {
    /// For the shards of a program: `inputs` stand behind `own` inputs of the network.
    pub(crate) fn new(program: &Program, own: usize, inputs: Vec<ShardInput>) -> Self {
        let numbers = scalars(program, &program.inputs()[own..own + inputs.len()]);
        FedShards { count: program.shards(), cut: Cut::default(), inputs, numbers }
    }

    /// The number of shards that a batch of this many rows has.
    pub(crate) fn of(&self, rows: usize) -> usize {
        shards_with_rows(rows, self.count)
    }

    /// Takes the shard `at` of a table.
    pub(crate) fn take(&mut self, table: &Table, at: usize) -> Result<(), Error> {
        let count = table.rows()?;
        let rows = rows_of_shard(count, self.count, at);
        self.cut.take(table, &rows)?;
        for (input, value) in self.inputs.iter().zip(&mut self.numbers) {
            let (rows, count) = match input.tokens {
                Some(k) => (self.cut.rows(k), table.feed(k).shape[0]),
                None => (rows.clone(), count),
            };
            value.set_scalar(match input.number {
                ShardNumber::Before => rows.start as f64,
                ShardNumber::Share => share_of_shard(rows.len(), count, at),
                ShardNumber::Weight => weight_of_shard(rows.len(), count),
            });
        }
        Ok(())
    }

    /// The number of inputs that a shard feeds.
    pub(crate) fn len(&self, table: &Table) -> usize {
        table.len() + self.numbers.len()
    }

    /// What is fed to input `k`.
    pub(crate) fn feed<'a>(&'a self, table: &'a Table, k: usize) -> Feed<'a> {
        match k.checked_sub(table.len()) {
            None => self.cut.feed(table, k),
            Some(k) => fed(&self.numbers[k]),
        }
    }
}

impl<B: Backend + Clone> Shards<B> {
    /// Returns the parts, the session that computes a shard, the metrics, and values for the learning rates.
    pub(super) fn new(
        model: &Arc<Model>,
        parameters: &Parameters<B>,
        options: &Options,
        states: &mut States<B>,
        is_frozen: &dyn Fn(&str) -> bool,
        updater: &dyn Updater,
        settings: &Settings,
    ) -> Result<(Session<B>, Self, Metrics, Vec<Values>), Error> {
        let mut network = model.program.clone();
        network.set_shards(options.shard_count(&network)?);
        let sums = MetricSums::new(model, &mut network)?;
        let batch = rows_of_batch(model)?;
        for_device(parameters.backend(), &mut network)?;
        let ShardedTraining { compute, update, sharding } =
            ShardedTraining::new(&network, batch, settings, is_frozen, &|update| updater.update(update))?;
        sums.check(model, &sharding)?;
        for program in [&compute, &update] {
            states.extend(parameters.backend(), program)?;
        }
        let mut session = Session::new(model, &compute, parameters, &states.storage, options.arithmetic)?;
        let (tables, sent) = (fed_by_rows(&update), Rows::default());
        *sent.open() = SentRows::of(&compute);
        session.executor.set_exchange(Box::new(sent.clone()));
        let (backend, storage) = (parameters.backend().clone(), parameters.storage());
        let rates = scalars(&update, &update.inputs()[2 * tables.len()..]);
        let update = Executor::with_states(backend, &update, storage, &states.storage, options.arithmetic)?;
        let own = model.program.inputs().len();
        let joining = scalars(&compute, &compute.inputs()[own + sharding.inputs.len()..]);
        let fed = FedShards::new(&compute, own, sharding.inputs);
        let shards = Shards { updating: update, tables, rows: sent, fed, joining, metrics: sums };
        Ok((session, shards, Metrics::of(model, Vec::new()), rates))
    }
}

impl<B: Backend> Shards<B> {
    /// Computes all shards, and adds up their gradients. Returns the number of rows and the cost.
    pub(super) fn compute(
        &mut self,
        session: &mut Session<B>,
        rows: &dyn AnyRows,
        metrics: &mut Metrics,
        parameters: &mut Buffers<B>,
        states: &mut Buffers<B>,
    ) -> Result<(usize, f64), Error> {
        let Session { scratch, executor, .. } = session;
        let table = rows.columns(scratch)?;
        let count = table.rows()?;
        let mut cost = 0.0;
        self.metrics.begin();
        executor.clear_stats();
        let shards = self.fed.of(count);
        for at in 0..shards {
            self.fed.take(table, at)?;
            join(&mut self.joining, at, shards);
            self.rows.open().begin(at, shards);
            let (fed_shards, joining) = (&self.fed, &self.joining);
            executor.begin(&|k| match k.checked_sub(fed_shards.len(table)) {
                None => fed_shards.feed(table, k),
                Some(k) => fed(&joining[k]),
            })?;
            executor.run(Part::Compute, parameters)?;
            cost += scalar(executor, 0);
            self.metrics.add(&|output| scalar(executor, output));
            executor.update(parameters, states)?;
        }
        self.metrics.finish(count, metrics);
        Ok((count, cost))
    }

    /// Updates the parameters from the sums.
    pub(super) fn update(
        &mut self,
        rates: &[Values],
        parameters: &mut Buffers<B>,
        states: &mut Buffers<B>,
    ) -> Result<(), RunError> {
        {
            let sent = self.rows.open();
            let tables = &self.tables;
            self.updating.begin(&|k| match tables.get(k / 2).and_then(|table| sent.sum(table)) {
                Some(sum) => sum.feeds()[k % 2],
                None => fed(&rates[k - 2 * tables.len()]),
            })?;
        }
        self.updating.update(parameters, states)
    }
}

/// Sets the inputs that say how a shard joins the sums, `at` of `count`.
pub(crate) fn join(values: &mut [Values], at: usize, count: usize) {
    let joining = Joining::of(at, count);
    let (adds, keeps) = values.split_at_mut(values.len() / 2);
    let truth = |holds: bool| f64::from(u8::from(holds));
    adds.iter_mut().enumerate().for_each(|(k, value)| value.set_scalar(truth(joining.added.contains(&k))));
    keeps.iter_mut().enumerate().for_each(|(k, value)| value.set_scalar(truth(joining.kept == Some(k))));
}

/// The row space of a network's batches: that of all inputs that are fed row by row.
pub(crate) fn rows_of_batch(model: &Model) -> Result<Option<RowsId>, GradientError> {
    let program = &model.program;
    let inputs = program.inputs().iter().zip(&model.signature.inputs).filter(|(_, spec)| spec.batched);
    let mut roots = inputs.filter_map(|(&input, spec)| {
        let around = |rows: &RowsId| program.row_space(*rows).parent;
        Some((std::iter::successors(program.ty(input).rows, around).last()?, &spec.name))
    });
    let Some((batch, first)) = roots.next() else { return Ok(None) };
    match roots.find(|(rows, _)| *rows != batch) {
        None => Ok(Some(batch)),
        Some((_, other)) => {
            let message = format!(
                "`{first}` and `{other}` have rows of different kinds, which shards cannot cut alike"
            );
            Err(GradientError { place: None, message })
        }
    }
}
