//! `update_rows`: the update of the whole table, of which only the rows that were looked up are kept.

use paddle_core::ops::UpdateRows;

use super::Evaluate;
use super::update::apply;
use crate::messages::entry_out_of_range;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

impl Evaluate for UpdateRows {
    /// The new table, states and powers.
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let (count, size) = (call.shape(0)[0], call.shape(0)[1]);
        let table = call.read(0);
        let (mut total, mut is_updated) = (vec![0.0; count * size], vec![false; count * size]);
        // Each lookup is added by itself, as in the gradient of the whole table.
        for [rows, ids] in self.lookups(call.op.inputs.len()) {
            let Values::I64(ids) = call.read(ids) else { panic!("the shape rule wants ids of type i64") };
            let (rows, mut sums) = (call.read(rows).floats(), vec![0.0; count * size]);
            for (at, &id) in ids.iter().enumerate() {
                let Some(row) = usize::try_from(id).ok().filter(|&row| row < count) else {
                    return Err(entry_out_of_range(id, at, count));
                };
                if id != self.padding_idx {
                    for j in 0..size {
                        sums[row * size + j] += rows[at * size + j];
                        is_updated[row * size + j] = true;
                    }
                }
            }
            let sums = Values::round(table.dtype(), sums).floats();
            let both = total.iter().zip(sums).map(|(total, sum)| total + sum);
            total = Values::round(table.dtype(), both.collect()).floats();
        }
        let states = self.update.states().len();
        let others = 4..4 + states + self.update.powers().len();
        let old: Vec<Values> =
            std::iter::once(table.clone()).chain(others.clone().map(|k| call.read(k))).collect();
        let operands = [table.clone(), Values::round(table.dtype(), total), call.read(2)];
        let operands = operands.into_iter().chain(others.map(|k| call.read(k))).collect();
        let new = apply(&self.update, operands);
        // The powers behind the states do not have rows.
        let merged = new.into_iter().zip(old).enumerate().map(|(k, (new, old))| match k <= states {
            true => {
                let both = Values::join(&[old, new]);
                let place = |i: usize| if is_updated[i] { count * size + i } else { i };
                both.at(&(0..count * size).map(place).collect::<Vec<_>>())
            }
            false => new,
        });
        Ok(merged.collect())
    }
}
