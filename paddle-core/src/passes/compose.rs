//! `compose`: replaces operators by compositions in which operators of their own compute what follows from parameters alone.
//! The plan computes that once for each version of the parameters, and fuses the rest with what is around.
//! `write_out`: replaces operators that somebody lacks by what others compute in their place.

use crate::ops::{Composition, Op, Program};
use crate::program::{BlockId, BuildError, VarId};

/// What gives the composition of an operator, if it has one.
type Compose<'a> = dyn Fn(&Op, &mut Composition<'_>) -> Result<Option<VarId>, BuildError> + 'a;

/// Replaces every operator that has a composition, in every block, unless its further outputs are read. For programs without
/// gradients.
pub fn compose(program: &mut Program) -> Result<(), BuildError> {
    for block in 0..program.blocks().len() as u32 {
        let (block, mut at) = (BlockId(block), 0);
        while at < program.block(block).ops.len() {
            at = replace(program, block, at, &|op, composition| op.operation().composed(composition))?
                .unwrap_or(at + 1);
        }
    }
    Ok(())
}

/// Replaces every operator for which `is_lacking`, in every block, if others can compute it and its intermediate outputs are not
/// read. Those others may be lacking, too. For programs without gradients.
pub fn write_out(program: &mut Program, is_lacking: impl Fn(&Op) -> bool) -> Result<(), BuildError> {
    let write = |op: &Op, composition: &mut Composition<'_>| op.operation().written_out(composition);
    let mut block = 0;
    // Loops that are written have blocks behind all others.
    while block < program.blocks().len() as u32 {
        let mut at = 0;
        while at < program.block(BlockId(block)).ops.len() {
            let is_written = is_lacking(&program.block(BlockId(block)).ops[at].op)
                && replace(program, BlockId(block), at, &write)?.is_some();
            at += usize::from(!is_written);
        }
        block += 1;
    }
    Ok(())
}

/// Replaces the operator at a place, if it has a composition. Returns the place behind that.
fn replace(
    program: &mut Program,
    block: BlockId,
    at: usize,
    compose: &Compose<'_>,
) -> Result<Option<usize>, BuildError> {
    let operator = &program.block(block).ops[at];
    let op = operator.op.clone();
    let outputs = operator.outputs.clone();
    let is_intermediate = |k: &usize| op.schema().output(*k).is_intermediate;
    let kept = (0..outputs.len()).find(|k| !is_intermediate(k)).unwrap_or(0);
    let others = outputs.iter().enumerate().filter(|&(k, _)| k != kept);
    if others.into_iter().any(|(_, &output)| is_read(program, output)) {
        return Ok(None);
    }
    let mut composition = Composition::before(program, block, at);
    let result = compose(&op, &mut composition)?;
    let at = composition.at();
    let Some(result) = result else { return Ok(None) };
    program.block_mut(block).ops.remove(at);
    program.swap_names(result, outputs[kept]);
    program.replace(outputs[kept], result);
    Ok(Some(at))
}

/// Whether an operator reads the value, or it leaves a block.
fn is_read(program: &Program, var: VarId) -> bool {
    let mut blocks = program.blocks().iter();
    blocks.any(|block| {
        block.results.contains(&var) || block.ops.iter().any(|operator| operator.inputs.contains(&var))
    }) || program.taps().iter().any(|tap| tap.var == var)
}
