//! `lookup_table_v2` and its gradient.

use std::marker::PhantomData;

use paddle_core::ops::{LookupTable, LookupTableGrad};
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::id_checks::first_outside;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_float};
use crate::cpu::number::Float;
use crate::cpu::operands::Operands;
use crate::cpu::pieces::pieces;
use crate::messages::entry_out_of_range;

/// Elements that one thread moves at a time.
const PIECE: usize = 1 << 14;
/// The largest number of pieces into which the table's gradient is cut. All ids are read for each piece.
const MOST_PIECES: usize = 16;

struct Look<T> {
    padding_idx: i64,
    entries: Extent,
    size: Extent,
    element: PhantomData<T>,
}

/// Checks that every id has an entry.
pub(super) fn check(ids: &[i64], entries: usize) -> Result<(), KernelError> {
    match first_outside(ids, entries, None) {
        Some(at) => Err(entry_out_of_range(ids[at], at, entries)),
        None => Ok(()),
    }
}

impl Compile for LookupTable {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (ids, table, out) = (single.input(0)?, single.input(1)?, single.output(0)?);
        let [entries, size] = table.1.shape[..] else { return single.refuse("of such a table") };
        let (dtype, padding_idx) = (table.1.dtype, self.padding_idx);
        let body: Box<dyn Body> = with_float!(single, dtype, T => Box::new(Look::<T> {
            padding_idx,
            entries,
            size,
            element: PhantomData,
        }));
        Ok((single.signature([ids, table], [out]), body))
    }

    fn finishes(&self) -> bool {
        true
    }
}

impl<T: Float> Body for Look<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (entries, size) = (self.entries.get(operands.sizes()), self.size.get(operands.sizes()).max(1));
        let finish = operands.finish();
        let (reads, writes) = operands.split();
        let (ids, table, out) = (reads.get::<i64>(0), reads.get::<T>(1), writes.one::<T>());
        check(ids, entries)?;
        let rows = (PIECE / size).max(1);
        pieces(&machine.team, out, rows * size, &|index, out| {
            for (row, id) in out.chunks_exact_mut(size).zip(&ids[index * rows..]) {
                match *id == self.padding_idx {
                    true => row.fill(T::ZERO),
                    false => row.copy_from_slice(&table[*id as usize * size..][..size]),
                }
            }
            finish.piece(out, index * rows * size);
        });
        Ok(())
    }
}

struct Add<T> {
    padding_idx: i64,
    entries: Extent,
    size: Extent,
    element: PhantomData<T>,
}

impl Compile for LookupTableGrad {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (ids, grad, out) = (single.input(0)?, single.input(2)?, single.output(0)?);
        let [entries, size] = out.1.shape[..] else { return single.refuse("of such a table") };
        let (dtype, padding_idx) = (out.1.dtype, self.0.padding_idx);
        let body: Box<dyn Body> = with_float!(single, dtype, T => Box::new(Add::<T> {
            padding_idx,
            entries,
            size,
            element: PhantomData,
        }));
        Ok((single.signature([ids, grad], [out]), body))
    }
}

impl<T: Float> Body for Add<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (entries, size) = (self.entries.get(operands.sizes()), self.size.get(operands.sizes()).max(1));
        let (reads, writes) = operands.split();
        let (ids, grad, out) = (reads.get::<i64>(0), reads.get::<T>(1), writes.one::<T>());
        check(ids, entries)?;
        let piece = (PIECE / size).max(entries.div_ceil(MOST_PIECES)).max(1);
        pieces(&machine.team, out, piece * size, &|index, out| {
            out.fill(T::ZERO);
            let (first, count) = (index * piece, out.len() / size);
            // Gradients are added in the order of the ids, so that any number of threads gives the same sums.
            for (grad, id) in grad.chunks_exact(size).zip(ids).filter(|(_, id)| **id != self.padding_idx) {
                let entry = (*id as usize).wrapping_sub(first);
                if entry < count {
                    let out = &mut out[entry * size..][..size];
                    out.iter_mut().zip(grad).for_each(|(out, grad)| *out += *grad);
                }
            }
        });
        Ok(())
    }
}
