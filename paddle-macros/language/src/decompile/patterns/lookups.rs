//! Entries of a table that is computed, and no parameter.

use paddle_core::ops::{LookupTable, Op, Operator};
use paddle_core::program::BlockId;

use super::{Blocks, Made};
use crate::decompile::tree::Call;

pub(super) fn looked_up(blocks: &Blocks<'_>, _: BlockId, operator: &Operator) -> Option<Made> {
    let (Op::LookupTable(LookupTable { padding_idx: -1 }), &[ids, table]) =
        (&operator.op, &operator.inputs[..])
    else {
        return None;
    };
    let call = Call::of("gather", blocks.values(&[table, ids]));
    (!blocks.graph.is_parameter(table)).then(|| Made::of(operator, call, Vec::new()))
}
