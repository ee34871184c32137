//! The rule for updates. PaddlePaddle's have an output for each input that they update in place: `ParamOut` for `Param`.

use crate::convert::blocks::one;
use crate::convert::derived::changed_slot;
use crate::convert::error::ConvertError;
use crate::convert::from_wire::Reading;
use crate::convert::ours::updates::update_of;
use crate::ops::Assign;
use crate::program::Definition;

impl Reading<'_, '_> {
    /// An update changes a parameter in place. If the parameter is a fed value, the update may write to another
    /// variable, provided that nothing else reads the fed value.
    pub(super) fn update(&mut self) -> Result<bool, ConvertError> {
        let Some(update) = update_of(self.desc)? else { return Ok(false) };
        let mut slots = vec!["Param", "Grad", "LearningRate"];
        slots.extend(update.states());
        slots.extend(update.powers().into_iter().map(|power| power.slot));
        let inputs = slots.iter().map(|slot| self.input(slot)).collect::<Result<Vec<_>, _>>()?;
        let desc = self.desc;
        let mut moved = Vec::new();
        for slot in update.changed_slots() {
            let (from, to) = (one(desc.input(slot), slot)?, one(desc.output(&changed_slot(slot)), slot)?);
            if from != to {
                let var = self.input(slot)?;
                let fed = self.reader.draft.program.var(var).definition == Definition::Input;
                if !fed || self.reader.readers(from) != 1 {
                    return Ok(false);
                }
                moved.push((var, to));
            }
        }
        self.define(update, &inputs, &[], &[])?;
        for (var, to) in moved {
            self.define(Assign, &[var], &[], &[to])?;
        }
        Ok(true)
    }
}
