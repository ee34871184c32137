//! Sums that are applied as they come, each piece of a step once.

use crate::machine::Update;
use crate::message::*;
use crate::planted::{Bug, planted};
use crate::tree::{self, MOST_LEAVES, Node};
use std::collections::{BTreeMap, BTreeSet};

/// So many steps may be under way at once. It bounds what a peer can make a server remember.
pub const MOST_STEPS: u64 = 4096;

/// Which pieces of which steps are applied.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// No step before this attempt is under way.
    low: u64,
    pieces: BTreeMap<u64, BTreeSet<u32>>,
}

impl Seen {
    /// The updates of a push: without pieces that are applied already. `low` is the lowest attempt that is under
    /// way. All parts of a piece are in one push.
    pub(super) fn updates<P: Clone>(
        &mut self,
        step: Step,
        low: u64,
        (plan, server, leaves): (&Plan<P>, u32, u32),
        parts: &[Part<P>],
    ) -> Result<Vec<Update<P>>, Refusal> {
        if leaves == 0 || leaves > MOST_LEAVES || step.attempt < low || step.attempt - low > MOST_STEPS {
            return Err(Refusal::Invalid);
        }
        let mut sums: BTreeMap<u32, BTreeMap<Node, P>> = BTreeMap::new();
        for part in parts {
            let known = plan.pieces.binary_search_by_key(&part.piece, |piece| piece.id);
            let piece = known.ok().and_then(|place| plan.pieces.get(place));
            if piece.is_none_or(|piece| piece.server != server) || !tree::is_node(part.node, leaves) {
                return Err(Refusal::Invalid);
            }
            sums.entry(part.piece).or_default().insert(part.node, part.sum.clone());
        }
        let mut updates = Vec::new();
        for (piece, sums) in sums {
            let nodes = tree::cover(leaves, |node| sums.contains_key(&node)).ok_or(Refusal::Invalid)?;
            let cover = nodes.into_iter().filter_map(|node| Some((node, sums.get(&node)?.clone()))).collect();
            updates.push(Update { piece, cover });
        }
        if low > self.low {
            self.low = low;
            self.pieces = self.pieces.split_off(&low);
        }
        if step.attempt < self.low {
            // The step is finished.
            return Ok(Vec::new());
        }
        let seen = self.pieces.entry(step.attempt).or_default();
        updates.retain(|update| seen.insert(update.piece) || planted(Bug::SeenTwice));
        Ok(updates)
    }
}
