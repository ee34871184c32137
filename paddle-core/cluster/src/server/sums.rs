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
    /// Where the sums over a node are in each of `pieces`. A trainer sends those of all its pieces over the same few nodes, so a node is
    /// looked for once in a message, and not once for each piece.
    places: BTreeMap<Node, usize>,
    /// By ascending numbers.
    pieces: Vec<SumsOfPiece<P>>,
}

#[derive(Clone, Debug)]
struct SumsOfPiece<P> {
    piece: u32,
    /// By the places of their nodes, as far as there are some.
    sums: Vec<Option<P>>,
}

impl<P: Clone> SumsOfPiece<P> {
    fn at(&self, place: usize) -> Option<&P> {
        self.sums.get(place)?.as_ref()
    }
}

impl<P: Clone> Sums<P> {
    /// None for a number of leaves that no batch has.
    pub(super) fn new(step: Step, plan: &Plan<P>, server: u32, leaves: u32) -> Option<Self> {
        if leaves == 0 || leaves > MOST_LEAVES {
            return None;
        }
        let own = plan.pieces.iter().filter(|piece| piece.server == server);
        let mut own: Vec<u32> = own.map(|piece| piece.id).collect();
        // Those of a plan are in order. A plan that is none does no harm.
        own.sort_unstable();
        own.dedup();
        let pieces = own.into_iter().map(|piece| SumsOfPiece { piece, sums: Vec::new() }).collect();
        Some(Self { step, plan: plan.id, leaves, places: BTreeMap::new(), pieces })
    }

    /// Whether sums of this plan over so many leaves belong to the step.
    pub(super) fn is_of(&self, plan: u32, leaves: u32) -> bool {
        self.plan == plan && self.leaves == leaves
    }

    fn find(&self, piece: u32) -> Option<usize> {
        self.pieces.binary_search_by_key(&piece, |piece| piece.piece).ok()
    }

    fn fits(&self, parts: &[Part<P>]) -> bool {
        let mut known = None;
        parts.iter().all(|&Part { piece, node, .. }| {
            let is_node = known == Some(node) || tree::is_node(node, self.leaves);
            known = Some(node);
            is_node && self.find(piece).is_some()
        })
    }

    /// Holds sums. If one of them is of no node or of no piece of this server, none is held.
    pub(super) fn hold(&mut self, parts: &[Part<P>]) -> bool {
        if !self.fits(parts) {
            return false;
        }
        let mut known = None;
        for part in parts {
            let place = match known {
                Some((node, place)) if node == part.node => place,
                _ => {
                    let next = self.places.len();
                    *self.places.entry(part.node).or_insert(next)
                }
            };
            known = Some((part.node, place));
            let Some(piece) = self.find(part.piece) else { continue };
            let sums = &mut self.pieces[piece].sums;
            if sums.len() <= place {
                sums.resize(place + 1, None);
            }
            sums[place] = Some(part.sum.clone());
        }
        true
    }

    /// What is held of a piece, in the order of the nodes.
    fn held<'a>(&'a self, piece: &'a SumsOfPiece<P>) -> impl Iterator<Item = (Node, &'a P)> {
        self.places.iter().filter_map(|(&node, &place)| Some((node, piece.at(place)?)))
    }

    /// The sums that make up the gradients of all pieces; none if a leaf of one is missing.
    pub(super) fn updates(&self) -> Option<Vec<Update<P>>> {
        let update = |piece: &SumsOfPiece<P>| {
            let cover = match tree::cover(self.leaves, self.held(piece)) {
                None if planted(Bug::PartOfCover) => self.held(piece).collect(),
                cover => cover?,
            };
            let cover = cover.into_iter().map(|(node, sum)| (node, sum.clone())).collect();
            Some(Update { piece: piece.piece, cover })
        };
        self.pieces.iter().map(update).collect()
    }
}
