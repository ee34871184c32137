//! `update_rows`: updates only the rows of a table that were looked up.

use super::lookup_table::looked_up;
use super::update::FIRST_STATE;
use super::{
    AccuracyClass, Adagrad, Adam, Attribute, AttributeError, AttributeReader, AttributeValue, Attributes,
    Effects, Infer, Mismatch, MismatchKind, Operation, Sample, Schema, Sgd, Slot, Update,
};
use crate::program::{DType, Type};

/// Updates rows of `Param`, a table, and the same rows of its states, in place. The rows are those whose numbers are in
/// `Ids`; other rows stay as they are. `Grad` is the gradient of the rows that were looked up. A row's own gradient is
/// the sum over the places of its number, in their order.
///
/// Behind the states come the gradients and ids of further lookups, in pairs, whose sums are added in order. Row
/// `padding_idx` has no gradient.
///
/// The result is that of an update with the gradient of the whole table, if that update [keeps](Update::keeps_rows)
/// rows without gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateRows {
    /// The update of each row.
    pub update: Update,
    /// The number of the row that reads as zeros; -1 for none.
    pub padding_idx: i64,
}

impl Attributes for UpdateRows {
    fn to_attributes(&self) -> Vec<(&'static str, Attribute)> {
        let own = [("padding_idx", self.padding_idx.to_attribute())];
        own.into_iter().chain(self.update.to_attributes()).collect()
    }

    fn with_attributes(&self, mut reader: AttributeReader<'_>) -> Result<Self, AttributeError> {
        let padding_idx = reader.take("padding_idx", Some(-1))?;
        Ok(UpdateRows { update: self.update.with_attributes(reader)?, padding_idx })
    }

    fn prototypes() -> Vec<Self> {
        let lazy = Adam { lazy_mode: true, ..Adam::default() };
        let updates: [Update; 3] = [Adagrad::default().into(), lazy.into(), Sgd {}.into()];
        updates.map(|update| UpdateRows { update, padding_idx: -1 }).into()
    }
}

/// The number of operands in front of the states: those of the update, and the ids.
const FIRST_ROW_STATE: usize = FIRST_STATE + 1;

impl UpdateRows {
    /// The number of inputs in front of those of further lookups.
    fn own_inputs(&self) -> usize {
        FIRST_ROW_STATE + self.update.states().len() + self.update.powers().len()
    }

    /// For each lookup, which inputs are its gradient and its ids, if there are this many inputs.
    pub fn lookups(&self, inputs: usize) -> impl Iterator<Item = [usize; 2]> {
        let others = (self.own_inputs()..inputs).step_by(2);
        std::iter::once([1, FIRST_STATE]).chain(others.map(|k| [k, k + 1]))
    }
}

impl Operation for UpdateRows {
    fn schema(&self) -> &'static Schema {
        const fn of_rows(name: &'static str, doc: &'static str) -> Schema {
            Schema {
                name,
                doc,
                inputs: const {
                    &[
                        Slot::of("Param").changed().picked(),
                        Slot::of("Grad"),
                        Slot::of("LearningRate"),
                        Slot::of("Ids"),
                        Slot::of("Others").variadic(),
                    ]
                },
                outputs: &[],
                accuracy: AccuracyClass::Accumulating("a sum over the places of an id, and its step"),
                effects: Effects { differentiable: false, ..Effects::STATE },
            }
        }
        match self.update {
            Update::Adagrad(_) => {
                const { &of_rows("adagrad_rows", "`adagrad` on the rows of a table that were looked up.") }
            }
            Update::Adam(_) => {
                const { &of_rows("adam_rows", "`adam` on the rows of a table that were looked up.") }
            }
            Update::Sgd(_) => {
                const { &of_rows("sgd_rows", "`sgd` on the rows of a table that were looked up.") }
            }
            Update::AdaDelta(_)
            | Update::AdamW(_)
            | Update::Adamax(_)
            | Update::DecayedAdagrad(_)
            | Update::Ftrl(_)
            | Update::Lamb(_)
            | Update::Momentum(_)
            | Update::RmsProp(_) => {
                const {
                    &of_rows(
                        "update_rows",
                        "An update of rows that also changes those that were not looked up.",
                    )
                }
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        if !self.update.keeps_rows() {
            let name = self.update.schema().name;
            let message =
                format!("`{name}` changes rows without gradient, too; it needs that of the whole table");
            return Err(cx.fail(MismatchKind::Attribute, message));
        }
        let others = cx.types.len().saturating_sub(self.own_inputs()) / 2 * 2;
        self.update.infer_states(cx, FIRST_ROW_STATE, others)?;
        for [rows, ids] in self.lookups(cx.types.len()) {
            cx.need_type(rows, &looked_up(cx, [ids, 0], self.padding_idx)?)?;
        }
        Ok(Vec::new())
    }

    /// The states and powers, which change as in an update of the whole table, and the further lookups.
    fn input(&self, k: usize) -> Slot {
        let slot = self.schema().input(k);
        let of_update = k.checked_sub(FIRST_ROW_STATE).map(|state| self.update.input(FIRST_STATE + state));
        let is_changed = slot.is_changed || of_update.is_some_and(|slot| slot.is_changed);
        Slot { is_changed, is_picked: is_changed, ..slot }
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        // Single precision represents these rates exactly, so no rounding of theirs looks like an error of the step.
        let adam = Adam { beta1: 0.875, beta2: 0.984375, lazy_mode: true, ..Adam::default() };
        let updates: [Update; 3] = [Sgd {}.into(), Adagrad::default().into(), adam.into()];
        let of = |update: Update| {
            let of = move |padding_idx, rows: usize, table: &[i64]| {
                let sample = Sample::of(UpdateRows { update, padding_idx }).dense(table);
                let sample = sample.rows(rows, &[table[1]]).dense(&[]).within(0.01, 0.1);
                let sample = sample.rows(rows, &[]).dtype(DType::I64).within(0.0, table[0] as f64);
                let states = update.states().iter();
                let sample = states.fold(sample, |sample, _| sample.dense(table).within(1.0, 2.0));
                let powers = update.powers().into_iter();
                powers.fold(sample, |sample, _| sample.dense(&[1]).within(0.1, 0.9))
            };
            let again = |sample: Sample, rows, dims: &[i64]| {
                let sample = sample.rows(rows, &[dims, &[2]].concat());
                sample.rows(rows, dims).dtype(DType::I64).within(0.0, 4.0)
            };
            // Rows that were not looked up, no ids, every row several times, one row, a row that is padding.
            [
                of(-1, 4, &[9, 3]),
                of(-1, 0, &[3, 4]),
                of(-1, 40, &[3, 70]),
                of(-1, 1, &[1, 1]),
                of(2, 8, &[5, 2]),
                // The table is looked up a second and a third time.
                again(again(of(2, 8, &[5, 2]), 8, &[3]), 8, &[]),
                again(of(-1, 0, &[5, 2]), 0, &[3]),
            ]
        };
        updates.into_iter().flat_map(of).collect()
    }
}
