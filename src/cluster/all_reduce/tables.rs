//! Tables that are looked up: behind a step each rank has the rows that it updates, and before a step it gets those that its
//! shards look up. All ranks read the whole batch, so nobody has to ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use paddle_cluster::tree::Node;
use paddle_core::ops::{Op, Program};
use paddle_core::passes::distribute::{DistributedTraining, Placement};
use paddle_core::plan::ExchangeError;

use super::GroupJob;
use super::group::run_of;
use super::said::{PieceRows, RowsDesc, exchange};
use crate::Error;
use crate::batch::Table;
use crate::cluster::lookups::{KnownRows, LookedUp, Wanted, looked_up};
use crate::cluster::mail::Rows;
use crate::cluster::{ClusterError, Placed};
use crate::trainer::FedShards;
use paddle_engines::collective::Collective;

/// What a plan reads of tables.
pub(super) struct Lookups {
    /// The pieces that go from rank to rank by rows: those of tables whose ids are fed.
    pub(super) tables: Vec<LookedUp>,
    /// Their numbers.
    pub(super) ids: Vec<u32>,
    /// The pieces that a rank has to have as a whole: also those of tables that are looked up by ids that are computed.
    whole: BTreeSet<u32>,
    /// Of these, the pieces of tables that are looked up by ids that are computed: the program reads rows of them wherever it wants.
    prefetched: BTreeSet<u32>,
}

impl Lookups {
    /// Those of the program of a trainer.
    pub(super) fn of(training: &DistributedTraining, placement: &Placement) -> Self {
        let tables = looked_up(&training.trainer);
        let number = |name: &str| {
            placement.pieces().iter().zip(0..).find_map(|(of, id)| (of.name == name).then_some(id))
        };
        let ids: Vec<u32> = tables.iter().filter_map(|table| number(&table.piece)).collect();
        let (mut whole, mut prefetched) = (BTreeSet::new(), BTreeSet::new());
        for operator in &training.trainer.block(Program::GLOBAL).ops {
            match &operator.op {
                Op::Receive(op) => whole.extend(number(&op.piece)),
                Op::Prefetch(op) => prefetched.extend(number(&op.piece)),
                _ => {}
            }
        }
        prefetched.retain(|id| !ids.contains(id));
        whole.extend(&prefetched);
        whole.retain(|id| !ids.contains(id));
        Lookups { tables, ids, whole, prefetched }
    }
}

/// For each piece, the rows that the shards of a run look up: ascending, counted from the first row of the piece.
fn wanted_by(
    tables: &[LookedUp],
    (batch, shards): (&Table, &mut FedShards),
    run: Node,
) -> Result<Vec<Vec<i64>>, Error> {
    let mut wanted = Wanted::of(tables);
    for at in run.start..run.end {
        shards.take(batch, at as usize)?;
        wanted.add(tables, |input| Some(shards.feed(batch, input)));
    }
    Ok(wanted.rows())
}

/// The rows that this rank has got for a step, by piece.
#[derive(Clone, Default)]
pub(super) struct Received(Arc<Mutex<BTreeMap<String, KnownRows>>>);

impl Received {
    /// Forgets what is there, and takes the rows of some pieces.
    pub(super) fn set(&self, rows: impl IntoIterator<Item = (String, KnownRows)>) {
        let mut received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        received.clear();
        received.extend(rows);
    }
}

impl Rows for Received {
    fn rows(&mut self, from: u32, piece: &str, ids: &[i64]) -> Result<Option<Bytes>, ExchangeError> {
        let received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = received.get(piece) else { return Ok(None) };
        let missing = |id| ExchangeError::Failed {
            message: format!("rank {from} has not given row {id} of `{piece}`"),
        };
        known.pick(ids).map(Some).map_err(missing)
    }
}

impl GroupJob {
    /// Waits for the new values of which a program reads rows wherever it wants: it asks for nothing in front.
    fn set_prefetched(&mut self, plan: u32) -> Result<(), Error> {
        let prefetched = match self.lookups.get(&plan) {
            Some(lookups) if !lookups.prefetched.is_empty() => lookups.prefetched.clone(),
            _ => return Ok(()),
        };
        self.catch_up()?;
        for Placed { parameter, values, .. } in &self.values {
            let pieces = self.placement.pieces().iter().zip(0..);
            let mut of_parameter = pieces.filter(|(piece, _)| piece.parameter == *parameter);
            if of_parameter.any(|(_, id)| prefetched.contains(&id)) {
                self.gradients.set(parameter, values.as_slice());
            }
        }
        self.coming.outdate(&prefetched);
        Ok(())
    }

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
        self.set_prefetched(plan)?;
        let way = self.way.as_mut().ok_or(ClusterError::Ended { why: "it is over".to_string() })?;
        let (tables, numbers) = match self.lookups.get(&plan) {
            Some(Lookups { tables, ids, .. }) if !tables.is_empty() => (tables, ids),
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
            for ((table, rows), &piece) in tables.iter().zip(&of_rank).zip(numbers) {
                if table.server == own {
                    let elements = self.pieces.rows(&table.piece, rows)?;
                    desc.pieces.push(PieceRows { piece, elements });
                }
            }
            to.push(desc);
            if rank == own {
                wanted = of_rank;
            }
        }
        let heard = exchange(way, to).map_err(|error| self.group.explain(error))?;
        let pieces = heard.into_iter().flat_map(|desc| desc.pieces);
        let mut elements: BTreeMap<_, _> = pieces.map(|rows| (rows.piece, rows.elements)).collect();
        let rows = tables.iter().zip(numbers).zip(wanted).map(|((table, number), ids)| {
            let elements = elements.remove(number).unwrap_or_default();
            (table.piece.clone(), KnownRows { ids, elements })
        });
        self.received.set(rows);
        Ok(())
    }
}
