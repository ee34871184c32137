//! `row_numbers`.

use paddle_core::ops;
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single};
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;

/// Rows that one thread numbers at a time.
const PIECE: usize = 1 << 14;

struct RowNumbers;

impl Compile for ops::RowNumbers {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let out = single.output(0)?;
        Ok((single.signature([], [out]), Box::new(RowNumbers)))
    }
}

impl Body for RowNumbers {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (_, writes) = operands.split();
        pieces(&machine.team, writes.one::<i64>(), PIECE, &|index, out| {
            for (out, row) in out.iter_mut().zip((index * PIECE) as i64..) {
                *out = row;
            }
        });
        Ok(())
    }
}
