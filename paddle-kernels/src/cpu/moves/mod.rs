//! The kernels of moves: the runtime's own work on values, rows and sequences, besides the operators of a program.

mod relayout;
mod rows;
mod sequences;
mod values;

use paddle_core::plan::{Group, Move, OperandType, Unsupported};

use super::kernel::{Body, Compiled, unsupported};
use super::operands::Signature;

/// Compiles a move.
pub(super) fn compile(kind: Move, group: &Group) -> Result<Compiled, Unsupported> {
    let output = &group.outputs[0];
    let body: Box<dyn Body> = match kind {
        Move::Copy => Box::new(values::Copying),
        Move::Relayout => relayout::relaying(&group.inputs[0], output)?,
        Move::Transfer => return unsupported("what goes from one device to another"),
        Move::Zero => Box::new(values::Zeroing),
        Move::Add => values::adding(output)?,
        Move::GatherRows => Box::new(rows::Gathering(output.clone())),
        Move::ScatterRows => Box::new(rows::Scattering(output.clone())),
        Move::AddRows => values::adding_rows(output)?,
        Move::CompactRows => Box::new(rows::Compacting(output.clone())),
        Move::NumberRows => Box::new(rows::Numbering),
        Move::SelectRows => Box::new(rows::Selecting),
        Move::SortSequences => Box::new(sequences::Sorting::default()),
        Move::TakeSequences => Box::new(sequences::Taking),
        Move::AddLengths => Box::new(sequences::AddingLengths),
        Move::RebaseOffsets => Box::new(sequences::Rebasing),
        Move::CollectSequences => Box::new(sequences::Collecting),
    };
    let inputs = group.inputs.len();
    let slots = |types: &[OperandType], first: usize| (first..).zip(types.iter().cloned()).collect();
    let signature =
        Signature { reads: slots(&group.inputs, 0), writes: slots(&group.outputs, inputs), in_place: false };
    Ok((signature, body))
}
