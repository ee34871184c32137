//! `test_mode`: turns a network for training into one for inference. Dropout keeps all elements, and normalisation uses
//! the statistics of the training instead of those of the batch. Nothing changes state.

use crate::ops::{Mode, Program};
use crate::program::BlockId;

/// Replaces every operator that behaves differently in inference, in every block. For programs without gradients.
pub fn test_mode(program: &mut Program) {
    for block in 0..program.blocks().len() as u32 {
        for operator in &mut program.block_mut(BlockId(block)).ops {
            if let Some(op) = operator.op.operation().in_mode(Mode::Test) {
                // The replacement has the same first inputs and outputs, and needs no others.
                let schema = op.schema();
                operator.inputs.truncate(schema.inputs.len());
                operator.outputs.truncate(schema.outputs.len());
                operator.op = op;
            }
        }
    }
}
