//! The binary tree in which the gradient of a batch is summed.
//!
//! The sum over the leaves `0..n` has one shape, whoever computes which part of it: a range of more than one leaf is
//! the sum of its first part, as many leaves as the largest power of two below its length, and of the rest. The bits
//! of a floating point sum depend on nothing but this shape. So trainers may come and go, two trainers may compute
//! the same leaves, and a server may combine whatever nodes it holds.
//!
//! ```
//! use paddle_cluster::tree::{self, Node};
//!
//! // Six leaves: ((0 1) (2 3)) (4 5). A trainer with the leaves 1, 2, 3 and 4 sends three sums.
//! let run = Node::new(1, 5);
//! let nodes: Vec<Node> = tree::nodes_of(run, 6).collect();
//! assert_eq!(nodes, [Node::new(1, 2), Node::new(2, 4), Node::new(4, 5)]);
//! ```

/// The largest number of leaves of a batch. It bounds what a peer can make a machine hold.
pub const MOST_LEAVES: u32 = 1 << 16;

/// The leaves `start..end`, where they are a node of a tree; also a run of leaves.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Node {
    /// The first leaf.
    pub start: u32,
    /// Behind the last leaf.
    pub end: u32,
}

impl Node {
    /// The leaves `start..end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// How many leaves these are; 0 if `end` is not behind `start`.
    pub const fn leaves(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether all leaves of `other` are in here.
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether no leaf is in both.
    pub const fn is_apart_from(self, other: Self) -> bool {
        self.end <= other.start || other.end <= self.start
    }
}

/// The two parts of a range; none for a leaf and for nothing.
pub fn split(range: Node) -> Option<(Node, Node)> {
    let leaves = range.leaves();
    if leaves < 2 {
        return None;
    }
    let middle = range.start + (1 << (31 - (leaves - 1).leading_zeros()));
    Some((Node::new(range.start, middle), Node::new(middle, range.end)))
}

/// Whether a range is a node of the tree over `leaves`.
pub fn is_node(range: Node, leaves: u32) -> bool {
    let mut node = Node::new(0, leaves);
    if range.leaves() == 0 {
        return false;
    }
    while node != range {
        let Some((left, right)) = split(node) else { return false };
        node = if left.contains(range) {
            left
        } else if right.contains(range) {
            right
        } else {
            return false;
        };
    }
    true
}

/// The largest nodes of the tree over `leaves` that make up a run of leaves, in order. What is outside of the tree
/// is left out.
pub fn nodes_of(run: Node, leaves: u32) -> impl Iterator<Item = Node> {
    let mut stack = vec![Node::new(0, leaves)];
    std::iter::from_fn(move || {
        while let Some(node) = stack.pop() {
            if node.leaves() == 0 || node.is_apart_from(run) {
                continue;
            }
            if run.contains(node) {
                return Some(node);
            }
            if let Some((left, right)) = split(node) {
                stack.push(right);
                stack.push(left);
            }
        }
        None
    })
}

/// Whether the nodes that `held` knows contain all leaves of `run`.
pub fn covers(run: Node, leaves: u32, mut held: impl FnMut(Node) -> bool) -> bool {
    let mut stack = vec![Node::new(0, leaves)];
    while let Some(node) = stack.pop() {
        if node.leaves() == 0 || node.is_apart_from(run) || held(node) {
            continue;
        }
        let Some((left, right)) = split(node) else { return false };
        stack.push(right);
        stack.push(left);
    }
    true
}

/// The largest of the nodes that are held which together are the tree over `leaves`, in order, with what is held of each; none if a
/// leaf is missing. `held` has nodes of that tree in their order. It looks at each once, and stops at the first leaf that is missing.
pub fn cover<T>(leaves: u32, held: impl IntoIterator<Item = (Node, T)>) -> Option<Vec<(Node, T)>> {
    let mut cover: Vec<(Node, T)> = Vec::new();
    let mut end = 0;
    for (node, value) in held {
        if node.start > end {
            return None;
        }
        // Of those that begin at the same leaf the last one is the largest. One that begins within the cover is within its last node,
        // as no two nodes of a tree overlap in a part of each.
        match cover.last_mut() {
            Some(last) if last.0.start == node.start => *last = (node, value),
            _ if node.start == end => cover.push((node, value)),
            _ => continue,
        }
        end = node.end;
    }
    (leaves > 0 && end == leaves).then_some(cover)
}

/// The sum over the tree, from the values of the largest nodes that `lookup` knows; none if a leaf is missing.
pub fn fold<T>(
    leaves: u32,
    mut lookup: impl FnMut(Node) -> Option<T>,
    mut combine: impl FnMut(T, T) -> T,
) -> Option<T> {
    fold_node(Node::new(0, leaves), &mut lookup, &mut combine)
}

/// The sum over one node. The depth is at most 32.
pub fn fold_node<T>(
    node: Node,
    lookup: &mut impl FnMut(Node) -> Option<T>,
    combine: &mut impl FnMut(T, T) -> T,
) -> Option<T> {
    if node.leaves() == 0 {
        return None;
    }
    if let Some(value) = lookup(node) {
        return Some(value);
    }
    let (left, right) = split(node)?;
    let left = fold_node(left, lookup, combine)?;
    let right = fold_node(right, lookup, combine)?;
    Some(combine(left, right))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The sum as text, with its parentheses: neither commutative nor associative.
    fn sum(leaves: u32, held: &BTreeMap<Node, String>) -> Option<String> {
        fold(leaves, |node| held.get(&node).cloned(), |left, right| format!("({left} {right})"))
    }

    fn value(node: Node) -> String {
        let mut leaf = |node: Node| (node.leaves() == 1).then(|| node.start.to_string());
        fold_node(node, &mut leaf, &mut |left, right| format!("({left} {right})")).unwrap()
    }

    #[test]
    fn the_shape_is_that_of_the_documentation() {
        assert_eq!(split(Node::new(0, 6)), Some((Node::new(0, 4), Node::new(4, 6))));
        assert_eq!(split(Node::new(0, 8)), Some((Node::new(0, 4), Node::new(4, 8))));
        assert_eq!(split(Node::new(4, 5)), None);
        assert_eq!(split(Node::new(5, 4)), None);
        assert_eq!(
            split(Node::new(0, u32::MAX)),
            Some((Node::new(0, 1 << 31), Node::new(1 << 31, u32::MAX)))
        );
        assert_eq!(value(Node::new(0, 6)), "(((0 1) (2 3)) (4 5))");
        assert_eq!(value(Node::new(0, 7)), "(((0 1) (2 3)) ((4 5) 6))");
    }

    /// All ways to cut up to 7 leaves into runs, and some of up to 70.
    #[test]
    fn nodes_of_runs_are_a_partition_and_their_sum_is_that_of_the_leaves() {
        let mut cuts = Vec::new();
        for leaves in 1..=7u32 {
            for bits in 0..1u32 << (leaves - 1) {
                cuts.push((leaves, (1..leaves).filter(|i| bits >> (i - 1) & 1 == 1).collect::<Vec<_>>()));
            }
        }
        for leaves in 8..=70 {
            for trainers in 1..=9 {
                cuts.push((leaves, (1..trainers).map(|i| i * leaves / trainers).collect()));
            }
        }
        for (leaves, mut bounds) in cuts {
            bounds.insert(0, 0);
            bounds.push(leaves);
            let nodes: Vec<Node> =
                bounds.windows(2).flat_map(|run| nodes_of(Node::new(run[0], run[1]), leaves)).collect();
            let mut at = 0;
            for node in &nodes {
                assert_eq!(node.start, at, "{leaves} {bounds:?}");
                assert!(is_node(*node, leaves));
                at = node.end;
            }
            assert_eq!(at, leaves);
            let held: BTreeMap<Node, String> = nodes.iter().map(|&node| (node, value(node))).collect();
            assert_eq!(sum(leaves, &held), Some(value(Node::new(0, leaves))), "{leaves} {bounds:?}");
            let covered = cover(leaves, held.iter().map(|(&node, _)| (node, ()))).unwrap();
            assert_eq!(covered.iter().map(|&(node, ())| node).collect::<Vec<_>>(), nodes);
            // Without any one of the nodes the sum is not there.
            for node in &nodes {
                let mut less = held.clone();
                less.remove(node);
                assert_eq!(sum(leaves, &less), None);
                assert_eq!(cover(leaves, less.iter().map(|(&node, _)| (node, ()))), None);
                assert!(!covers(*node, leaves, |node| less.contains_key(&node)));
            }
        }
    }

    #[test]
    fn overlapping_covers_do_no_harm() {
        let all: BTreeMap<Node, String> = [(0, 4), (0, 2), (2, 3), (3, 4), (4, 6), (5, 6)]
            .map(|(start, end)| (Node::new(start, end), value(Node::new(start, end))))
            .into();
        assert_eq!(sum(6, &all), Some(value(Node::new(0, 6))));
        assert!(covers(Node::new(1, 5), 6, |node| all.contains_key(&node)));
        let covered = cover(6, all.iter().map(|(&node, _)| (node, ())));
        assert_eq!(covered, Some(vec![(Node::new(0, 4), ()), (Node::new(4, 6), ())]));
    }

    #[test]
    fn absurd_ranges_are_no_nodes() {
        for (start, end) in [(3, 1), (0, 0), (1, 3), (5, 9), (u32::MAX, 0), (0, u32::MAX)] {
            assert!(!is_node(Node::new(start, end), 6), "{start} {end}");
        }
        assert_eq!(nodes_of(Node::new(9, 12), 6).count(), 0);
        assert_eq!(nodes_of(Node::new(5, 2), 6).count(), 0);
        assert_eq!(nodes_of(Node::new(0, 6), 0).count(), 0);
        assert_eq!(sum(0, &BTreeMap::new()), None);
        assert_eq!(cover(0, [(Node::new(0, 0), ())]), None);
    }
}
