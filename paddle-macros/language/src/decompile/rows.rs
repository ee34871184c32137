//! Values by which layers are told of rows.

use paddle_core::ops::{Op, Operator};
use paddle_core::program::{BlockId, RowOrigin, RowsId, VarId};

use super::statements::Blocks;
use super::tree::{Call, Expr};

/// A value that has these rows and is there in front of an operator: one that has them itself, or the lengths of sequences.
pub(super) fn like(blocks: &Blocks<'_>, block: BlockId, operator: &Operator, rows: RowsId) -> Option<Expr> {
    let program = blocks.program();
    let of = |var: &VarId| program.ty(*var).rows;
    if let Some(found) = in_front(blocks, block, operator, |var| of(var) == Some(rows)) {
        blocks.graph.tell_by(found);
        return Some(blocks.value(found));
    }
    let has_sequences =
        |var: &VarId| of(var).and_then(|of| program.rows_of_whole_sequences(of)) == Some(rows);
    if let Some(sequences) = in_front(blocks, block, operator, has_sequences) {
        blocks.graph.tell_by(sequences);
        return Some(Call::of("sequence_length", vec![blocks.value(sequences)]).into());
    }
    let RowOrigin::Fixed(count) = program.row_space(rows).origin else { return None };
    Some(own(Call::of("zeros", vec![Expr::word(count)])))
}

/// The parts of a value as rows of their own.
pub(super) fn own(value: impl Into<Expr>) -> Expr {
    Call::of("own_rows", vec![value.into()]).into()
}

/// The first such value that is there in front of an operator. What is filled in, and the numbers of rows, are written by others.
fn in_front(
    blocks: &Blocks<'_>,
    block: BlockId,
    operator: &Operator,
    is_it: impl Fn(&VarId) -> bool,
) -> Option<VarId> {
    let program = blocks.program();
    let is_written = |other: &&Operator| !matches!(other.op, Op::Fill(_) | Op::RowNumbers(_));
    let mut at = Some(block);
    while let Some(id) = at {
        let of = program.block(id);
        let before = of.ops.iter().enumerate().take_while(|(_, other)| !std::ptr::eq(*other, operator));
        let live = before.filter(|(at, _)| blocks.graph.is_live(id, *at)).map(|(_, other)| other);
        let written = live.filter(is_written).flat_map(|other| other.outputs.iter());
        if let Some(found) = of.params.iter().chain(written).find(|var| is_it(var)) {
            return Some(*found);
        }
        at = of.parent;
    }
    None
}
