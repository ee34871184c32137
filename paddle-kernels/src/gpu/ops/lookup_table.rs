//! `lookup_table_v2` and its gradient.

use paddle_core::ops::{LookupTable, LookupTableGrad};
use paddle_core::plan::{Extent, Unsupported};

use super::Compile;
use crate::gpu::form::{
    Float, Long, Register, Truth, Unsigned, Variable, each, fail, for_each, otherwise, scalar, when,
};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::sort::{bits_below, sort};
use crate::gpu::tensor::{Call, Tensor};
use crate::messages::entry_out_of_range;

/// The entry of a row, and whether it is read: not if it is padding, or does not exist.
fn known_entry(ids: &Tensor, row: Unsigned, count: Extent, padding_idx: i64) -> (Unsigned, Truth) {
    let id = ids.load(row).long();
    (id.low, id.is_index(scalar(&[count])) & !id.is(Long::of(padding_idx)))
}

/// Likewise. Fails where an id has no entry.
fn entry(ids: &Tensor, row: Unsigned, count: Extent, padding_idx: i64) -> (Unsigned, Truth) {
    when(!ids.load(row).long().is_index(scalar(&[count])), || fail(row));
    known_entry(ids, row, count, padding_idx)
}

fn explained(kernel: Kernel, call: &Call<'_>) -> Kernel {
    let count = call.shape(1)[0];
    kernel.explain_number(call.input_number(0), move |id, at, sizes| {
        entry_out_of_range(id, at, count.get(sizes))
    })
}

impl Compile for LookupTable {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let table = call.shape(1).to_vec();
        let kernel = Kernel::new().stage(Grid::Items(call.out_shape(0).to_vec()), || {
            let (ids, entries, out) = (call.input(0), call.input(1), call.output(0));
            each(out.elements(), |index| {
                let size = scalar(&[table[1]]);
                let row = index / size;
                let (at, is_read) = entry(&ids, row, table[0], self.padding_idx);
                when(is_read, || out.copy(index, &entries, at * size + (index - row * size)));
                otherwise(|| out.clear(index));
            });
        });
        Ok(explained(kernel, &call))
    }
}

impl Compile for LookupTableGrad {
    /// The ids are sorted: the thread of the first row that reads an entry adds up the gradients of all rows that do, in order.
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let [ids, table] = [0, 1].map(|k| call.shape(k).to_vec());
        let zeroed = Kernel::new().stage(Grid::Items(table.clone()), || {
            let out = call.output(0);
            each(out.elements(), |index| out.clear(index));
        });
        let checked = zeroed.stage(Grid::Items(ids.clone()), || {
            let ids = call.input(0);
            each(ids.elements(), |row| {
                entry(&ids, row, table[0], self.0.padding_idx);
            });
        });
        // What is not read is behind all entries.
        let number = |row: Unsigned| {
            let (at, is_read) = known_entry(&call.input(0), row, table[0], self.0.padding_idx);
            Unsigned::choose(is_read, at, scalar(&table[..1]))
        };
        let (kernel, sorted) = sort(checked, call.group, &ids, bits_below(&table[..1]), &number);
        let kernel = kernel.stage(Grid::Items(call.shape(2).to_vec()), || {
            let (grad, out) = (call.input(2), call.output(0));
            each(grad.elements(), |index| {
                let size = scalar(&[table[1]]);
                let at = index / size;
                let (column, entry) = (index - at * size, sorted.number(at));
                when(sorted.is_new(at) & entry.less(scalar(&table[..1])), || {
                    let sum = Variable::new(Float::constant(0.0));
                    for_each(at, sorted.first(entry + Unsigned::of(1)), Unsigned::of(1), |at| {
                        sum.set(sum.get() + grad.float(sorted.place(at) * size + column));
                    });
                    out.set(entry * size + column, sum.get());
                });
            });
        });
        Ok(explained(kernel, &call))
    }
}
