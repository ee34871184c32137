//! Operators that are more, or less, than one layer of their name: a file for each kind.

mod activation;
mod arithmetic;
mod fc;
mod filters;
mod images;
mod lookups;
mod moves;
mod prelu;
mod random;
mod ranks;
mod sequences;
mod slices;

use paddle_core::ops::Operator;
use paddle_core::program::BlockId;

use super::statements::{Blocks, Made};

/// How an operator of a block is found to be a part of something.
type Pattern = fn(&Blocks<'_>, BlockId, &Operator) -> Option<Made>;

/// The patterns, those of larger parts first.
const PATTERNS: &[Pattern] = &[
    activation::activated,
    fc::fc,
    filters::biased,
    prelu::prelu,
    arithmetic::arithmetic,
    slices::slice,
    ranks::ranked,
    random::random,
    images::image,
    lookups::looked_up,
    moves::moved,
    sequences::sequence,
];

/// What an operator is the last part of; `None` if a table says it.
pub(super) fn find(blocks: &Blocks<'_>, block: BlockId, operator: &Operator) -> Option<Made> {
    PATTERNS.iter().find_map(|pattern| pattern(blocks, block, operator))
}
