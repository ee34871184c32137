//! Kernels that choose rows by a mask, and move rows.

use paddle_core::plan::{KernelError, OperandType};

use crate::cpu::kernel::{Body, Machine};
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;

/// The number of bytes that one thread moves at a time.
const PIECE: usize = 1 << 16;

/// The bytes of a row.
fn row_bytes(ty: &OperandType, sizes: &[usize]) -> usize {
    ty.row_elements(sizes).saturating_mul(ty.dtype.bytes())
}

/// [`Move::SelectRows`](paddle_core::plan::Move::SelectRows).
pub(super) struct Selecting;

impl Body for Selecting {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let (mask, [yes, no, count]) = (reads.bytes(0), writes.all::<i32, 3>());
        let mut trues = 0;
        for (row, truth) in mask.iter().enumerate() {
            // The row is written to both lists but kept in one. That is faster than a branch that nobody can predict.
            yes[trues] = row as i32;
            no[row - trues] = row as i32;
            trues += usize::from(*truth != 0);
        }
        count[0] = trues as i32;
        Ok(())
    }
}

/// [`Move::GatherRows`](paddle_core::plan::Move::GatherRows), to an operand of this type.
pub(super) struct Gathering(pub(super) OperandType);

impl Body for Gathering {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let bytes = row_bytes(&self.0, operands.sizes());
        let (reads, writes) = operands.split();
        let (from, index, to) = (reads.bytes(0), reads.get::<i32>(1), writes.one_bytes());
        if bytes == 0 {
            return Ok(());
        }
        let piece = (PIECE / bytes).max(1);
        pieces(&machine.team, &mut to[..index.len() * bytes], piece * bytes, &|number, to| {
            let index = &index[number * piece..];
            match bytes {
                4 => gather_rows(4, from, index, to),
                8 => gather_rows(8, from, index, to),
                _ => gather_rows(bytes, from, index, to),
            }
        });
        Ok(())
    }
}

/// It is inlined, so that copies of a constant length become single moves.
#[inline(always)]
fn gather_rows(bytes: usize, from: &[u8], index: &[i32], to: &mut [u8]) {
    for (to, row) in to.chunks_exact_mut(bytes).zip(index) {
        to.copy_from_slice(&from[*row as usize * bytes..][..bytes]);
    }
}

/// [`Move::ScatterRows`](paddle_core::plan::Move::ScatterRows), to an operand of this type.
pub(super) struct Scattering(pub(super) OperandType);

impl Body for Scattering {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let bytes = row_bytes(&self.0, operands.sizes());
        let (reads, writes) = operands.split();
        let (from, index, to) = (reads.bytes(0), reads.get::<i32>(1), writes.one_bytes());
        if bytes == 0 {
            return Ok(());
        }
        // Only an ascending index can be cut into pieces, each of which writes rows of its own.
        let ascends = index.windows(2).fold(true, |ascends, pair| ascends & (pair[0] < pair[1]));
        let piece = if ascends { (PIECE / bytes).max(1) } else { to.len() / bytes };
        pieces(&machine.team, to, piece * bytes, &|number, to| {
            let first = number * piece;
            let range = match ascends {
                true => {
                    let before = |end: usize| index.partition_point(|row| (*row as usize) < end);
                    before(first)..before(first + to.len() / bytes)
                }
                false => 0..index.len(),
            };
            let from = &from[range.start * bytes..range.end * bytes];
            match bytes {
                4 => scatter_rows(4, from, &index[range], first, to),
                8 => scatter_rows(8, from, &index[range], first, to),
                _ => scatter_rows(bytes, from, &index[range], first, to),
            }
        });
        Ok(())
    }
}

#[inline(always)]
fn scatter_rows(bytes: usize, from: &[u8], index: &[i32], first: usize, to: &mut [u8]) {
    for (from, row) in from.chunks_exact(bytes).zip(index) {
        to[(*row as usize - first) * bytes..][..bytes].copy_from_slice(from);
    }
}

/// [`Move::CompactRows`](paddle_core::plan::Move::CompactRows), of an operand of this type.
pub(super) struct Compacting(pub(super) OperandType);

impl Body for Compacting {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let bytes = row_bytes(&self.0, operands.sizes());
        let (reads, writes) = operands.split();
        let (index, rows) = (reads.get::<i32>(0), writes.one_bytes());
        for (row, &chosen) in index.iter().enumerate() {
            let chosen = chosen as usize;
            // This ensures that no row is overwritten before it is read.
            assert!(row <= chosen, "the index of rows that stay ascends");
            rows.copy_within(chosen * bytes..(chosen + 1) * bytes, row * bytes);
        }
        Ok(())
    }
}

/// [`Move::NumberRows`](paddle_core::plan::Move::NumberRows).
pub(super) struct Numbering;

impl Body for Numbering {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (_, writes) = operands.split();
        for (number, to) in (0..).zip(writes.one::<i32>()) {
            *to = number;
        }
        Ok(())
    }
}
