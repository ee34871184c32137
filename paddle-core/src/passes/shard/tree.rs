//! The order in which the gradients of shards are added up: that of a binary tree over the shards, which depends only on
//! their number.
//!
//! Of `n` shards, the largest power of two below `n` are the left subtree, the others the right one; the sum is that of
//! the left plus that of the right. So the sum of a subtree is a number of its own, whatever computes it, and a machine
//! that has all shards of a subtree need only send their sum.

use std::num::NonZero;
use std::ops::Range;

/// How the gradient of one shard joins the sums so far.
///
/// The sums of complete subtrees that still wait for their right neighbours are kept on a stack. The sum of a shard is
/// its gradient, plus sums from the top of the stack; it is the sum of the tree behind the last shard, and is pushed
/// behind any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joining {
    /// The places on the stack whose sums are added, from the last to the first.
    pub added: Range<usize>,
    /// The place at which the sum is kept; `None` behind the last shard.
    pub kept: Option<usize>,
}

impl Joining {
    /// How the shard `at` of `count` joins.
    pub fn of(at: usize, count: usize) -> Joining {
        // The bits of `at` are the sizes of the subtrees that wait.
        let waiting = at.count_ones() as usize;
        if at + 1 == count {
            return Joining { added: 0..waiting, kept: None };
        }
        let place = waiting - at.trailing_ones() as usize;
        Joining { added: place..waiting, kept: Some(place) }
    }
}

/// The number of places that the stack needs for this many shards.
pub fn places(shards: NonZero<u32>) -> usize {
    shards.ilog2() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(range: Range<usize>) -> String {
        match range.len() {
            1 => range.start.to_string(),
            len => {
                let middle = range.start + (1 << (len - 1).ilog2());
                format!("({}+{})", sum(range.start..middle), sum(middle..range.end))
            }
        }
    }

    #[test]
    fn shards_that_join_one_by_one_make_the_sum_of_the_tree() {
        for count in 1..70 {
            let places = places(NonZero::new(count as u32).unwrap());
            let (mut stack, mut total) = (vec![String::new(); places], None);
            for at in 0..count {
                let Joining { added, kept } = Joining::of(at, count);
                let join = |right, place: usize| format!("({}+{right})", stack[place]);
                let joined = added.rev().fold(at.to_string(), join);
                match kept {
                    Some(place) => stack[place] = joined,
                    None => total = Some(joined),
                }
            }
            assert_eq!(total, Some(sum(0..count)));
        }
    }

    #[test]
    fn the_stack_has_no_place_that_is_not_needed() {
        for shards in 1..70 {
            let kept = (0..shards as usize).filter_map(|at| Joining::of(at, shards as usize).kept).max();
            assert_eq!(places(NonZero::new(shards).unwrap()), kept.map_or(0, |place| place + 1), "{shards}");
        }
        assert_eq!(places(NonZero::<u32>::MAX), 31);
    }
}
