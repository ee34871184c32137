//! Liveness: the operators that a run needs.

use std::collections::BTreeSet;

use crate::ops::Program;
use crate::program::{BlockId, Dim, OpInterface, VarId};

/// An operator: its block and its position there.
pub(super) type At = (BlockId, usize);

/// The operators that outputs, gradients or state depend on.
pub(super) fn live(program: &Program) -> BTreeSet<At> {
    let mut definitions = vec![None; program.vars().len()];
    let mut owners = vec![None; program.blocks().len()];
    let mut live = BTreeSet::new();
    let mut makers = vec![None; program.row_spaces().len()];
    // The operators that make as many tokens as a size says.
    let mut counters = vec![None; program.symbols().len()];
    let mut pending: Vec<VarId> = program.outputs().to_vec();
    pending.extend(program.gradients().iter().map(|pair| pair.gradient));
    let mut operators: Vec<At> = Vec::new();
    for (b, block) in program.blocks().iter().enumerate() {
        for (i, operator) in block.ops.iter().enumerate() {
            let at = (BlockId(b as u32), i);
            for rows in operator.op.operation().makes(program, operator) {
                makers[rows.0 as usize] = Some(at);
                counters[program.row_space(rows).size.0 as usize] = Some(at);
            }
            for output in &operator.outputs {
                definitions[output.0 as usize] = Some(at);
            }
            for inner in &operator.blocks {
                owners[inner.0 as usize] = Some(at);
            }
            if operator.op.effects().state {
                operators.push(at);
            }
        }
    }
    loop {
        while let Some(at) = operators.pop() {
            if !live.insert(at) {
                continue;
            }
            let operator = &program.block(at.0).ops[at.1];
            pending.extend(operator.read());
            // A value on tokens needs their offsets, which the operator that makes the tokens computes.
            let vars = operator.inputs.iter().chain(&operator.outputs);
            for rows in vars.clone().filter_map(|&var| program.ty(var).rows) {
                operators.extend(program.sources(rows).filter_map(|rows| makers[rows.0 as usize]));
            }
            // An input of which only the size is read has one, too.
            let sizes = vars.flat_map(|&var| &program.ty(var).dims).flat_map(Dim::symbols);
            operators.extend(sizes.chain(operator.op.symbols()).filter_map(|size| counters[size.0 as usize]));
            for &inner in &operator.blocks {
                let inner = program.block(inner);
                pending.extend(&inner.results);
                // A gradient block needs the rows and the iterations of its forward block.
                operators.extend(inner.forward.and_then(|forward| owners[forward.0 as usize]));
            }
            // An operator in a block runs only if the operator that owns the block does.
            operators.extend(owners[at.0.0 as usize]);
        }
        match pending.pop() {
            Some(var) => operators.extend(definitions[var.0 as usize]),
            None => return live,
        }
    }
}
