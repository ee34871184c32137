//! `turn`: turns the matrices that products read as their transposes, where they follow from parameters alone.
//!
//! The plan turns them once for each version of the parameters. A product that reads a matrix as its transpose brings it into
//! order in each run, which takes longer than the product itself if the other factor has few rows. The turned matrices take
//! memory beside the parameters.

use std::collections::{BTreeMap, BTreeSet};

use crate::ops::{Op, Program, Transpose};
use crate::program::{BlockId, BuildError, Definition, VarId};

/// Turns the matrices that operators read as transposes, in every block. For programs without gradients.
pub fn turn(program: &mut Program) -> Result<(), BuildError> {
    let fixed = fixed(program);
    let mut turned: BTreeMap<VarId, VarId> = BTreeMap::new();
    for block in (0..program.blocks().len() as u32).map(BlockId) {
        let mut at = 0;
        while at < program.block(block).ops.len() {
            if let Some((op, input)) = reads_transpose(program, block, at, &fixed) {
                let matrix = program.block(block).ops[at].inputs[input];
                let other = match turned.get(&matrix) {
                    Some(&other) => other,
                    None => {
                        let (behind, site) = (behind(program, matrix), program.block(block).ops[at].site);
                        let op = Transpose { perm: vec![1, 0] };
                        let other =
                            program.insert_at(Program::GLOBAL, behind, op.into(), &[matrix], site)?[0];
                        turned.insert(matrix, other);
                        at += usize::from(block == Program::GLOBAL);
                        other
                    }
                };
                let operator = &mut program.block_mut(block).ops[at];
                operator.op = op;
                operator.inputs[input] = other;
            }
            at += 1;
        }
    }
    Ok(())
}

/// For an operator that reads a fixed matrix as its transpose: the one that reads the transpose itself, and which input it is.
fn reads_transpose(
    program: &Program,
    block: BlockId,
    at: usize,
    fixed: &BTreeSet<VarId>,
) -> Option<(Op, usize)> {
    let operator = &program.block(block).ops[at];
    let (input, op) = operator.op.operation().turned()?;
    let matrix = *operator.inputs.get(input)?;
    let ty = program.ty(matrix);
    (fixed.contains(&matrix) && ty.rows.is_none() && ty.dims.len() == 2).then_some((op, input))
}

/// The values of the global block that follow from parameters alone.
fn fixed(program: &Program) -> BTreeSet<VarId> {
    let numbered = program.vars().iter().zip((0..).map(VarId));
    let parameters = numbered.filter(|(var, _)| var.definition == Definition::Parameter);
    let mut fixed: BTreeSet<VarId> = parameters.map(|(_, id)| id).collect();
    for operator in &program.block(Program::GLOBAL).ops {
        let effects = operator.op.effects();
        let follows = effects.pure && !effects.blocks && !operator.inputs.is_empty();
        if follows && operator.inputs.iter().all(|input| fixed.contains(input)) {
            fixed.extend(&operator.outputs);
        }
    }
    fixed
}

/// The place behind the operator that writes a value of the global block.
fn behind(program: &Program, var: VarId) -> usize {
    let mut operators = program.block(Program::GLOBAL).ops.iter();
    operators.position(|operator| operator.outputs.contains(&var)).map_or(0, |at| at + 1)
}
