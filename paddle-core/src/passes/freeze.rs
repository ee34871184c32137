//! `freeze`: keeps parameters unchanged, to the last bit. Gradients still flow through the operators that use them.

use super::gradient_paths::trained;
use crate::ops::{GradientError, Mode, Program};
use crate::program::{BlockId, VarId};

/// Freezes the parameters whose names satisfy `is_frozen`: they are not trained, and operators that move statistics
/// leave them alone. For programs without gradients.
///
/// Errors if an operator changes one of them in a way that cannot be left out.
pub fn freeze(program: &mut Program, is_frozen: &dyn Fn(&str) -> bool) -> Result<(), GradientError> {
    let frozen: Vec<VarId> = program.parameters().filter(|&id| is_frozen(&program.var(id).name)).collect();
    for block in 0..program.blocks().len() as u32 {
        for at in 0..program.block(BlockId(block)).ops.len() {
            let operator = &program.block(BlockId(block)).ops[at];
            let Some(changed) = operator.changed().find(|changed| frozen.contains(changed)) else {
                continue;
            };
            let Some(op) = operator.op.operation().in_mode(Mode::Frozen) else {
                let (name, parameter) = (operator.op.name(), &program.var(changed).name);
                let message = format!("`{name}` changes `{parameter}` in each step, so it cannot be frozen");
                return Err(GradientError {
                    place: operator.site.place.map(|at| program.locate(at)),
                    message,
                });
            };
            program.block_mut(BlockId(block)).ops[at].op = op;
        }
    }
    frozen.into_iter().for_each(|parameter| program.keep(parameter));
    Ok(())
}

/// Freezes the parameters that the network itself leaves out of training, for example by `stop_gradient`. It has to run
/// before other passes drop the values that nothing reads.
///
/// Errors if the program cannot be trained, see [`check_trainable`](super::check_trainable).
pub fn leave_out(program: &mut Program) -> Result<(), GradientError> {
    let trained = trained(program)?;
    let others: Vec<VarId> = program.parameters().filter(|parameter| !trained.contains(parameter)).collect();
    others.into_iter().for_each(|parameter| program.keep(parameter));
    Ok(())
}
