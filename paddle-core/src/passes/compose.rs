//! `compose`: replaces operators by compositions in which operators of their own compute what follows from parameters alone.
//! The plan computes that once for each version of the parameters, and fuses the rest with what is around.

use crate::ops::{Composition, Program};
use crate::program::{BlockId, BuildError, VarId};

/// Replaces every operator that has a composition, in every block, unless its further outputs are read. For programs without
/// gradients.
pub fn compose(program: &mut Program) -> Result<(), BuildError> {
    for block in 0..program.blocks().len() as u32 {
        let block = BlockId(block);
        let mut at = 0;
        while at < program.block(block).ops.len() {
            at = replace(program, block, at)?;
        }
    }
    Ok(())
}

/// Replaces the operator at a place, if it has a composition. Returns the place behind it.
fn replace(program: &mut Program, block: BlockId, at: usize) -> Result<usize, BuildError> {
    let operator = &program.block(block).ops[at];
    let op = operator.op.clone();
    let outputs = operator.outputs.clone();
    if outputs.iter().skip(1).any(|&output| is_read(program, output)) {
        return Ok(at + 1);
    }
    let mut composition = Composition { program, block, at };
    let result = op.operation().composed(&mut composition)?;
    let at = composition.at;
    let Some(result) = result else { return Ok(at + 1) };
    program.block_mut(block).ops.remove(at);
    program.swap_names(result, outputs[0]);
    program.replace(outputs[0], result);
    Ok(at)
}

/// Whether an operator reads the value, or it leaves a block.
fn is_read(program: &Program, var: VarId) -> bool {
    let mut blocks = program.blocks().iter();
    blocks.any(|block| {
        block.results.contains(&var) || block.ops.iter().any(|operator| operator.inputs.contains(&var))
    }) || program.taps().iter().any(|tap| tap.var == var)
}
