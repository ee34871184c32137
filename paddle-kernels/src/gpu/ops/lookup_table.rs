//! `lookup_table_v2` and its gradient.

use paddle_core::ops::{LookupTable, LookupTableGrad};
use paddle_core::plan::{Extent, Unsupported};

use super::Compile;
use crate::gpu::form::{
    Float, Long, Truth, Unsigned, Variable, each, fail, for_each, otherwise, scalar, when,
};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::{Call, Tensor};
use crate::messages::entry_out_of_range;

/// The entry of a row, and whether it is read: not if it is padding. Fails where an id has no entry.
fn entry(ids: &Tensor, row: Unsigned, count: Extent, padding_idx: i64) -> (Unsigned, Truth) {
    let id = ids.load(row).long();
    let exists = id.is_index(scalar(&[count]));
    when(!exists, || fail(row));
    (id.low, exists & !id.is(Long::of(padding_idx)))
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
    /// The thread of the first row that reads an entry adds up the gradients of all rows that do, in order.
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let table = call.shape(1).to_vec();
        let zero = Kernel::new().stage(Grid::Items(table.clone()), || {
            let out = call.output(0);
            each(out.elements(), |index| out.clear(index));
        });
        let kernel = zero.stage(Grid::Items(call.shape(2).to_vec()), || {
            let (ids, grad, out) = (call.input(0), call.input(2), call.output(0));
            each(grad.elements(), |index| {
                let size = scalar(&[table[1]]);
                let (row, rows) = (index / size, scalar(call.shape(0)));
                let column = index - row * size;
                let (at, is_read) = entry(&ids, row, table[0], self.0.padding_idx);
                let is_first = Variable::new(is_read);
                when(is_read, || {
                    for_each(Unsigned::of(0), row, Unsigned::of(1), |other| {
                        when(ids.load(other).long().low.is(at), || is_first.set(Truth::of(false)));
                    });
                });
                when(is_first.get(), || {
                    let sum = Variable::new(Float::constant(0.0));
                    for_each(row, rows, Unsigned::of(1), |other| {
                        when(ids.load(other).long().low.is(at), || {
                            sum.set(sum.get() + grad.float(other * size + column));
                        });
                    });
                    out.set(at * size + column, sum.get());
                });
            });
        });
        Ok(explained(kernel, &call))
    }
}
