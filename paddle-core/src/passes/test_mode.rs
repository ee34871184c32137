//! `test_mode`: turns a network as it is trained into the network as it is used. What drops elements at random keeps
//! them, and what normalises by the batch normalises by what was seen in training. It changes no state.

use crate::ops::{Mode, Program};
use crate::program::BlockId;

/// Puts what an operator is in test runs in its place, in every block. For programs without gradients.
pub fn test_mode(program: &mut Program) {
    for block in 0..program.blocks().len() as u32 {
        for operator in &mut program.block_mut(BlockId(block)).ops {
            if let Some(op) = operator.op.operation().in_mode(Mode::Test) {
                // It has the same first inputs and outputs, and needs no others.
                let schema = op.schema();
                operator.inputs.truncate(schema.inputs.len());
                operator.outputs.truncate(schema.outputs.len());
                operator.op = op;
            }
        }
    }
}
