//! `combine`: replaces operators that compute something together by one operator, where the device has a kernel for it. So what
//! is between them need not be in memory as a whole, as the scores of attention.
//!
//! The pass is for networks without gradients: the gradient of the operator is then one of its own, too.

use crate::ops::{Before, Op, Program};
use crate::program::{BlockId, BuildError, DType, VarId};

/// Whether a device has a kernel for an operator on inputs and outputs of these element types, in this order.
pub type Supports<'a> = dyn Fn(&Op, &[DType]) -> bool + 'a;

/// Combines operators, in every block.
pub fn combine(program: &mut Program, supports: &Supports<'_>) -> Result<(), BuildError> {
    for block in 0..program.blocks().len() as u32 {
        let block = BlockId(block);
        let mut at = 0;
        while at < program.block(block).ops.len() {
            at = replace(program, supports, block, at)?;
        }
    }
    Ok(())
}

/// Replaces the operator at a place together with those in front of it, if they can be one. Returns the place behind it.
fn replace(
    program: &mut Program,
    supports: &Supports<'_>,
    block: BlockId,
    at: usize,
) -> Result<usize, BuildError> {
    let (before, rest) = program.block(block).ops.split_at(at);
    let operator = &rest[0];
    let (site, outputs) = (operator.site, operator.outputs.clone());
    let combination = operator.op.operation().combined(operator, Before { program, operators: before });
    let Some(combination) = combination else { return Ok(at + 1) };
    let result = program.ty(outputs[0]).dtype;
    let results = combination.op.schema().outputs.iter().map(|_| result);
    let types: Vec<DType> =
        combination.inputs.iter().map(|&input| program.ty(input).dtype).chain(results).collect();
    let is_free = combination.between.iter().all(|&var| reads(program, var) == 1);
    if !is_free || !supports(&combination.op, &types) {
        return Ok(at + 1);
    }
    let result = program.insert_at(block, at, combination.op, &combination.inputs, site)?[0];
    program.swap_names(result, outputs[0]);
    program.replace(outputs[0], result);
    let operators = &mut program.block_mut(block).ops;
    operators.remove(at + 1);
    operators.retain(|operator| !operator.outputs.iter().any(|output| combination.between.contains(output)));
    let mut left = at + 1 - combination.between.len();
    while let Some(place) = last_unread(program, block, &combination.unread) {
        program.block_mut(block).ops.remove(place);
        left -= 1;
    }
    Ok(left)
}

/// The place of the last operator that computes one of these values alone, if nothing reads that.
fn last_unread(program: &Program, block: BlockId, vars: &[VarId]) -> Option<usize> {
    let is_unread = |var: &VarId| vars.contains(var) && reads(program, *var) == 0;
    let operators = &program.block(block).ops;
    operators.iter().rposition(|operator| matches!(&operator.outputs[..], [var] if is_unread(var)))
}

/// How often a value is read, by operators or behind its block.
fn reads(program: &Program, var: VarId) -> usize {
    let by_blocks = program.blocks().iter().map(|block| {
        let inputs = block.ops.iter().flat_map(|operator| &operator.inputs);
        inputs.chain(&block.results).filter(|read| **read == var).count()
    });
    by_blocks.sum::<usize>() + program.taps().iter().filter(|tap| tap.var == var).count()
}
