//! `link`: gives the operators of the user's own that a program uses the kernels that compute them.

use crate::ops::{Custom, Kernel, Op, Program};
use crate::program::BlockId;

/// Links what `find` finds to each operator of the user's own, in every block and in the gradients that
/// [`backward`](super::backward) will append. An error of `find` ends it.
pub fn link<E>(program: &mut Program, find: &mut impl FnMut(&Custom) -> Result<Kernel, E>) -> Result<(), E> {
    for block in 0..program.blocks().len() as u32 {
        for operator in &mut program.block_mut(BlockId(block)).ops {
            if let Op::Custom(custom) = &mut operator.op {
                custom.kernel = find(custom)?;
                link(custom.definition.program_mut(), find)?;
            }
        }
    }
    Ok(())
}
