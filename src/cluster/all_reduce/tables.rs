//! Tables that are looked up: behind a step each rank has the rows that it updates, and before a step it gets those that its
//! shards look up. All ranks read the whole batch, so nobody has to ask.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use paddle_cluster::tree::Node;
use paddle_core::ops::{Op, Program};
use paddle_core::passes::distribute::{DistributedTraining, Piece, Placement};
use paddle_core::plan::{ExchangeError, HostSlice};

use super::GroupJob;
use super::group::run_of;
use super::said::{PieceRows, RowsDesc, exchange};
use crate::Error;
use crate::batch::Table;
use crate::cluster::ClusterError;
use crate::cluster::mail::Rows;
use crate::trainer::FedShards;

/// A piece of a table that is looked up by what is fed.
pub(super) struct LookedUp {
    /// The number of the piece.
    pub(super) id: u32,
    pub(super) piece: String,
    pub(super) server: u32,
    rows: Range<usize>,
    /// The inputs of the network with the ids.
    inputs: Vec<usize>,
}

/// What a plan reads of tables.
pub(super) struct Lookups {
    /// The pieces that go from rank to rank by rows: those of tables whose ids are fed.
    pub(super) tables: Vec<LookedUp>,
    /// The pieces that a rank has to have as a whole: also those of tables that are looked up by ids that are computed.
    whole: BTreeSet<u32>,
}

impl Lookups {
    /// Those of the program of a trainer.
    pub(super) fn of(training: &DistributedTraining, placement: &Placement) -> Self {
        let mut lookups = Lookups { tables: Vec::new(), whole: BTreeSet::new() };
        for (piece, id) in placement.pieces().iter().zip(0..) {
            let Piece { name, server, rows, .. } = piece;
            let by_rows = training.by_rows.contains(name);
            match inputs_of(&training.trainer, name).filter(|_| by_rows) {
                Some(inputs) => {
                    let (piece, server, rows) = (name.clone(), *server, rows.clone());
                    lookups.tables.push(LookedUp { id, piece, server, rows, inputs });
                }
                None if reads(&training.trainer, name) => drop(lookups.whole.insert(id)),
                None => {}
            }
        }
        lookups
    }
}

/// Whether a program reads a piece.
fn reads(trainer: &Program, name: &str) -> bool {
    trainer.block(Program::GLOBAL).ops.iter().any(|operator| match &operator.op {
        Op::Receive(op) => op.piece == name,
        Op::Prefetch(op) => op.piece == name,
        _ => false,
    })
}

/// The inputs by which a piece is looked up; none if there are others.
fn inputs_of(trainer: &Program, name: &str) -> Option<Vec<usize>> {
    let operators = trainer.block(Program::GLOBAL).ops.iter();
    let lookups = operators
        .filter(|operator| matches!(&operator.op, Op::Prefetch(prefetch) if prefetch.piece == name))
        .filter_map(|operator| operator.inputs.get(1));
    lookups.map(|ids| trainer.inputs().iter().position(|input| input == ids)).collect()
}

/// For each piece, the rows that the shards of a run look up: ascending, counted from the first row of the piece.
fn wanted_by(
    tables: &[LookedUp],
    (batch, shards): (&Table, &mut FedShards),
    run: Node,
) -> Result<Vec<Vec<i64>>, Error> {
    let mut wanted = vec![Vec::new(); tables.len()];
    for at in run.start..run.end {
        shards.take(batch, at as usize)?;
        for (LookedUp { rows, inputs, .. }, wanted) in tables.iter().zip(&mut wanted) {
            for &input in inputs {
                let HostSlice::I64(ids) = shards.feed(batch, input).values else { continue };
                let is_own = |id: &i64| usize::try_from(*id).is_ok_and(|id| rows.contains(&id));
                wanted.extend(ids.iter().filter(|id| is_own(id)).map(|id| id - rows.start as i64));
            }
        }
    }
    for rows in &mut wanted {
        rows.sort_unstable();
        rows.dedup();
    }
    Ok(wanted)
}

/// Rows of a piece: their numbers, ascending, and their elements.
type Known = (Vec<i64>, Bytes);

/// The rows that this rank has got for a step, by piece.
#[derive(Clone, Default)]
pub(super) struct Received(Arc<Mutex<BTreeMap<String, Known>>>);

impl Received {
    /// Forgets what is there, and takes the rows of some pieces.
    pub(super) fn set(&self, rows: impl IntoIterator<Item = (String, Known)>) {
        let mut received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        received.clear();
        received.extend(rows);
    }
}

impl Rows for Received {
    fn rows(&mut self, from: u32, piece: &str, ids: &[i64]) -> Result<Option<Bytes>, ExchangeError> {
        let received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((known, elements)) = received.get(piece) else { return Ok(None) };
        let width = elements.len() / known.len().max(1);
        let mut rows = Vec::with_capacity(ids.len() * width);
        for id in ids {
            let row = known.binary_search(id).ok().and_then(|at| elements.get(at * width..(at + 1) * width));
            let row = row.ok_or_else(|| ExchangeError::Failed {
                message: format!("rank {from} has not given row {id} of `{piece}`"),
            })?;
            rows.extend_from_slice(row);
        }
        Ok(Some(rows.into()))
    }
}

impl GroupJob {
    /// Gives each rank the rows of tables that its shards look up, and takes those of this one. All of a table goes to whoever needs it
    /// as a whole.
    pub(super) fn give_rows(
        &mut self,
        plan: u32,
        batch: &Table,
        shards: &mut FedShards,
        leaves: u32,
    ) -> Result<(), Error> {
        if self.lookups.get(&plan).is_some_and(|lookups| !lookups.whole.is_disjoint(&self.stale)) {
            self.refresh()?;
        }
        let way = self.way.as_mut().ok_or(ClusterError::Ended { why: "it is over".to_string() })?;
        let tables = match self.lookups.get(&plan) {
            Some(Lookups { tables, .. }) if !tables.is_empty() => tables,
            _ => {
                self.received.set([]);
                return Ok(());
            }
        };
        let (own, size) = (way.rank(), way.size());
        let (mut to, mut wanted) = (Vec::new(), Vec::new());
        for rank in 0..size {
            // A shard that cannot be cut out is an error of the step, which comes next.
            let of_rank = wanted_by(tables, (batch, shards), run_of(rank, size, leaves));
            let of_rank = of_rank.unwrap_or_else(|_| vec![Vec::new(); tables.len()]);
            let mut desc = RowsDesc::default();
            for (table, rows) in tables.iter().zip(&of_rank).filter(|(table, _)| table.server == own) {
                let elements = self.pieces.rows(&table.piece, rows)?;
                desc.pieces.push(PieceRows { piece: table.id, elements });
            }
            to.push(desc);
            if rank == own {
                wanted = of_rank;
            }
        }
        let heard = exchange(&mut **way, to).map_err(|error| self.group.explain(error))?;
        let pieces = heard.into_iter().flat_map(|desc| desc.pieces);
        let mut elements: BTreeMap<_, _> = pieces.map(|rows| (rows.piece, rows.elements)).collect();
        let rows = tables.iter().zip(wanted).map(|(table, ids)| {
            let elements = elements.remove(&table.id).unwrap_or_default();
            (table.piece.clone(), (ids, elements))
        });
        self.received.set(rows);
        Ok(())
    }
}
