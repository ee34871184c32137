//! The sums that a server holds of one step.

use crate::machine::Update;
use crate::message::*;
use crate::planted::{Bug, planted};
use crate::tree::{self, MOST_LEAVES, Node};
use std::collections::BTreeMap;

/// Sums of the pieces of one server. What it holds is bounded by the nodes of the tree, whatever trainers send.
#[derive(Clone, Debug)]
pub(super) struct Sums<P> {
    pub(super) step: Step,
    plan: u32,
    leaves: u32,
    /// By piece.
    pieces: BTreeMap<u32, BTreeMap<Node, P>>,
}

impl<P: Clone> Sums<P> {
    /// None for a number of leaves that no batch has.
    pub(super) fn new(step: Step, plan: &Plan<P>, server: u32, leaves: u32) -> Option<Self> {
        if leaves == 0 || leaves > MOST_LEAVES {
            return None;
        }
        let own = plan.pieces.iter().filter(|piece| piece.server == server);
        let pieces = own.map(|piece| (piece.id, BTreeMap::new())).collect();
        Some(Self { step, plan: plan.id, leaves, pieces })
    }

    /// Whether sums of this plan over so many leaves belong to the step.
    pub(super) fn is_of(&self, plan: u32, leaves: u32) -> bool {
        self.plan == plan && self.leaves == leaves
    }

    fn fits(&self, part: &Part<P>) -> bool {
        tree::is_node(part.node, self.leaves) && self.pieces.contains_key(&part.piece)
    }

    /// Holds sums. If one of them is of no node or of no piece of this server, none is held.
    pub(super) fn hold(&mut self, parts: &[Part<P>]) -> bool {
        if !parts.iter().all(|part| self.fits(part)) {
            return false;
        }
        for part in parts {
            if let Some(sums) = self.pieces.get_mut(&part.piece) {
                sums.insert(part.node, part.sum.clone());
            }
        }
        true
    }

    /// The sums that make up the gradients of all pieces; none if a leaf of one is missing.
    pub(super) fn updates(&self) -> Option<Vec<Update<P>>> {
        let mut updates = Vec::with_capacity(self.pieces.len());
        for (&piece, sums) in &self.pieces {
            let nodes = match tree::cover(self.leaves, |node| sums.contains_key(&node)) {
                Some(nodes) => nodes,
                None if planted(Bug::PartOfCover) => sums.keys().copied().collect(),
                None => return None,
            };
            let cover = nodes.into_iter().filter_map(|node| Some((node, sums.get(&node)?.clone())));
            updates.push(Update { piece, cover: cover.collect() });
        }
        Some(updates)
    }
}
