//! Training in symbols: a value is a hash of all that it was computed from.
//!
//! A sum in another order, a stale value, an update that is lost or applied twice: each changes the hashes of all
//! that comes after it.

use crate::machine::{Entry, Update};
use crate::message::{Part, Piece, Plan, Request};
use crate::retry::mix;
use crate::tree::{self, Node};

/// What stands for values that a reader has already.
pub(crate) const UNCHANGED: u64 = 0;

fn hash(parts: &[u64]) -> u64 {
    parts.iter().fold(0x5eed, |hash, &part| mix(hash.rotate_left(17) ^ mix(part)))
}

/// A sum of two: neither commutative nor associative, like that of floating point numbers.
pub(crate) fn add(left: u64, right: u64) -> u64 {
    hash(&[1, left, right])
}

/// The values of pieces together. Those of several servers are added up, so they do not depend on who holds what.
pub(crate) fn values(pieces: impl Iterator<Item = (u32, u64)>) -> u64 {
    pieces.fold(1 << 40, |sum, (piece, state)| sum.wrapping_add(value(piece, state)))
}

/// What a piece adds to the values of its server.
pub(crate) fn value(piece: u32, state: u64) -> u64 {
    hash(&[2, u64::from(piece), state]) >> 8
}

/// Leaves next to each other, each a hash of all that its gradients and results are computed from.
pub(crate) struct Leaves {
    start: u32,
    hashes: Vec<u64>,
}

impl Leaves {
    /// Of a plan, with a header and the values of all pieces; from a leaf on, with their rows.
    pub(crate) fn new((plan, header): (u32, u64), values: u64, start: u32, rows: &[u64]) -> Self {
        let leaf = |(leaf, &row)| hash(&[3, u64::from(plan), header, leaf, row, values]);
        Self { start, hashes: (u64::from(start)..).zip(rows).map(leaf).collect() }
    }

    /// The hash of a node that is a leaf.
    fn leaf(&self, node: Node) -> Option<u64> {
        (node.leaves() == 1).then(|| self.hashes[(node.start - self.start) as usize])
    }

    /// The sum of a piece's gradient over a node.
    pub(crate) fn gradient(&self, piece: u32, node: Node) -> u64 {
        let mut lookup = |node: Node| Some(hash(&[4, u64::from(piece), self.leaf(node)?]));
        tree::fold_node(node, &mut lookup, &mut add).unwrap_or(0)
    }

    /// What a trainer finds out over a node.
    pub(crate) fn result(&self, node: Node) -> u64 {
        let mut lookup = |node: Node| Some(hash(&[5, self.leaf(node)?]));
        tree::fold_node(node, &mut lookup, &mut add).unwrap_or(0)
    }

    /// All sums of these pieces over these nodes.
    pub(crate) fn parts(&self, pieces: &[Piece], nodes: &[Node]) -> Vec<Part<u64>> {
        let of_piece = |piece: &Piece| {
            let id = piece.id;
            nodes.iter().map(move |&node| Part { piece: id, node, sum: self.gradient(id, node) })
        };
        pieces.iter().flat_map(of_piece).collect()
    }
}

/// The sum of nodes that are all of a tree, in order. None if one is missing, or one too many.
fn sum_of(leaves: u32, nodes: &[(Node, u64)]) -> Option<u64> {
    let mut rest = nodes;
    let next = |node: Node| {
        let (&(_, sum), behind) = rest.split_first().filter(|((next, _), _)| *next == node)?;
        rest = behind;
        Some(sum)
    };
    let sum = tree::fold(leaves, next, add);
    sum.filter(|_| rest.is_empty())
}

/// What the user's loop makes of the results.
pub(crate) fn cost(leaves: u32, results: &[(Node, u64)]) -> Option<u64> {
    sum_of(leaves, results)
}

/// What a server finds out about its pieces' sums for all servers.
pub(crate) fn measure(sums: impl Iterator<Item = (u32, u64)>) -> u64 {
    sums.fold(9, |measure, (piece, sum)| hash(&[8, measure, u64::from(piece), sum]))
}

/// A piece after an update, which depends on what all servers have measured. In asynchronous training any order is right,
/// so only what is applied counts, and how often.
pub(crate) fn updated(
    alone: bool,
    state: u64,
    (header, plan): (u64, u32),
    sum: u64,
    measures: &[u64],
) -> u64 {
    if alone {
        return state.wrapping_add(hash(&[7, header, u64::from(plan)]));
    }
    hash(&[6, state, header, u64::from(plan), sum, hash(measures)])
}

/// The sum that a server makes of a cover.
pub(crate) fn sum(leaves: u32, update: &Update<u64>) -> Option<u64> {
    sum_of(leaves, &update.cover)
}

/// What the user's loop does with a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It commits the step.
    Normal,
    /// The cost is not finite: it abandons the step.
    NotFinite,
    /// The network has an error.
    Error,
    /// Who computes the first leaf dies.
    Deadly,
}

/// A batch of the user's loop.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) request: Request<u64>,
    pub(crate) kind: Kind,
    /// Whether the loop looks at the values after it.
    pub(crate) fetch: bool,
}

/// A training.
#[derive(Clone, Debug)]
pub(crate) struct Training {
    /// Whether it is asynchronous.
    pub(crate) alone: bool,
    pub(crate) plans: Vec<Plan<u64>>,
    /// The initial state of each piece, and the server that holds it.
    pub(crate) pieces: Vec<(u64, u32)>,
    pub(crate) batches: Vec<Batch>,
}

/// The same training on one machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reference {
    /// The pieces at each version.
    pub(crate) states: Vec<Vec<u64>>,
    pub(crate) log: Vec<Entry>,
    /// The cost of each step of the log.
    pub(crate) costs: Vec<u64>,
}

impl Training {
    /// The values of a plan in a state of all pieces.
    pub(crate) fn values(&self, plan: u32, states: &[u64]) -> u64 {
        let pieces = &self.plans[plan as usize].pieces;
        // Each server's values have a mark of their own.
        let servers = self.servers();
        (0..servers).fold(0, |sum: u64, server| {
            let own = pieces.iter().filter(|piece| piece.server == server);
            sum.wrapping_add(values(own.map(|piece| (piece.id, states[piece.id as usize]))))
        })
    }

    pub(crate) fn servers(&self) -> u32 {
        self.pieces.iter().map(|&(_, server)| server + 1).max().unwrap_or(0)
    }

    /// Trains on one machine.
    pub(crate) fn reference(&self) -> Reference {
        let mut states: Vec<u64> = self.pieces.iter().map(|&(state, _)| state).collect();
        let mut reference = Reference { states: vec![states.clone()], ..Reference::default() };
        for Batch { request, .. } in self.batches.iter().filter(|batch| batch.kind == Kind::Normal) {
            let all = Node::new(0, u32::try_from(request.leaves.len()).unwrap_or(0));
            let values = self.values(request.plan, &states);
            let plan = &self.plans[request.plan as usize];
            let leaves = Leaves::new((request.plan, request.header), values, 0, &request.leaves);
            let sums: Vec<(&Piece, u64)> =
                plan.pieces.iter().map(|piece| (piece, leaves.gradient(piece.id, all))).collect();
            let measure = |server: u32| {
                let own = sums.iter().filter(|(piece, _)| piece.server == server);
                measure(own.map(|&(piece, sum)| (piece.id, sum)))
            };
            let measures: Vec<u64> = match plan.measures {
                true => (0..self.servers()).map(measure).collect(),
                false => Vec::new(),
            };
            for &(piece, sum) in &sums {
                let state = &mut states[piece.id as usize];
                let of = (request.header, request.plan);
                *state = updated(self.alone, *state, of, sum, &measures);
            }
            reference.states.push(states.clone());
            reference.costs.push(leaves.result(all));
            let Request { plan, pass, batch, rows, .. } = *request;
            reference.log.push(Entry { version: reference.log.len() as u64, plan, pass, batch, rows });
        }
        reference
    }
}
