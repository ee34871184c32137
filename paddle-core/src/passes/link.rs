//! `link`: attaches kernels to the user's own operators in a program.

use crate::ops::{Custom, LinkedKernel, Op, Program};
use crate::program::BlockId;

/// Attaches the kernel that `find` returns to each operator of the user's own: in every block, and in the gradients
/// that [`backward`](super::backward) will append. Stops at the first error of `find`.
pub fn link<E>(
    program: &mut Program,
    find: &mut impl FnMut(&Custom) -> Result<LinkedKernel, E>,
) -> Result<(), E> {
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
