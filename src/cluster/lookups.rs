//! Lookups of tables: which rows of which pieces the shards of a program need, as far as ids are fed, and rows that have come.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;
use paddle_core::ops::{Op, Program};
use paddle_core::plan::{Feed, HostSlice};

/// A piece of a table that is looked up by what is fed.
pub(super) struct LookedUp {
    pub(super) piece: String,
    pub(super) server: u32,
    rows: Range<i64>,
    /// The inputs of the network with the ids.
    inputs: Vec<usize>,
}

/// The pieces that a trainer's program looks up by what is fed, and by nothing else.
pub(super) fn looked_up(trainer: &Program) -> Vec<LookedUp> {
    let mut tables: BTreeMap<&str, Option<LookedUp>> = BTreeMap::new();
    for operator in &trainer.block(Program::GLOBAL).ops {
        let (Op::Prefetch(op), &[_, ids]) = (&operator.op, &operator.inputs[..]) else { continue };
        let table = tables.entry(&op.piece).or_insert_with(|| {
            let (piece, server, rows) = (op.piece.clone(), op.from as u32, op.begin..op.end);
            Some(LookedUp { piece, server, rows, inputs: Vec::new() })
        });
        match (trainer.inputs().iter().position(|&input| input == ids), &mut *table) {
            (Some(input), Some(table)) => table.inputs.push(input),
            _ => *table = None,
        }
    }
    tables.into_values().flatten().collect()
}

/// For each piece, the rows that shards look up, counted from its first row.
pub(super) struct Wanted(Vec<Vec<i64>>);

impl Wanted {
    /// Nothing yet.
    pub(super) fn of(tables: &[LookedUp]) -> Self {
        Wanted(vec![Vec::new(); tables.len()])
    }

    /// Adds what a shard looks up that is fed this.
    pub(super) fn add<'a>(&mut self, tables: &[LookedUp], mut feed: impl FnMut(usize) -> Option<Feed<'a>>) {
        for (LookedUp { rows, inputs, .. }, wanted) in tables.iter().zip(&mut self.0) {
            for &input in inputs {
                let Some(Feed { values: HostSlice::I64(ids), .. }) = feed(input) else { continue };
                wanted.extend(ids.iter().filter(|id| rows.contains(id)).map(|id| id - rows.start));
            }
        }
    }

    /// The rows of each piece, ascending.
    pub(super) fn rows(self) -> Vec<Vec<i64>> {
        let distinct = |mut rows: Vec<i64>| {
            rows.sort_unstable();
            rows.dedup();
            rows
        };
        self.0.into_iter().map(distinct).collect()
    }
}

/// Rows of a piece that have come.
#[derive(Clone)]
pub(super) struct KnownRows {
    /// Their numbers, ascending.
    pub(super) ids: Vec<i64>,
    pub(super) elements: Bytes,
}

impl KnownRows {
    /// The elements of rows of these numbers, or the number of one that is missing.
    pub(super) fn pick(&self, ids: &[i64]) -> Result<Bytes, i64> {
        if ids == self.ids {
            return Ok(self.elements.clone());
        }
        let width = self.elements.len() / self.ids.len().max(1);
        let mut rows = Vec::with_capacity(ids.len() * width);
        for &id in ids {
            let at = self.ids.binary_search(&id).map_err(|_| id)?;
            rows.extend_from_slice(self.elements.get(at * width..(at + 1) * width).ok_or(id)?);
        }
        Ok(rows.into())
    }
}
