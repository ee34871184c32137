//! Rules for updates. PaddlePaddle's have an output for each input that they update in place: `ParamOut` for `Param`.

use crate::convert::derived::{self, changed_slot};
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::to_wire::updates::L2;
use crate::ops::{Adam, AdamW, Assign, Momentum, Op, Program, Update};
use crate::program::Definition;
use crate::wire::OpDesc;

/// The update that an operator is; `None` if it is another one, or has a form that ours lack.
pub(in crate::convert) fn update_of(desc: &OpDesc) -> Result<Option<Update>, Fault> {
    let Some(Op::Update(update)) = derived::named(&desc.r#type) else { return Ok(None) };
    let others = ["MasterParam", "SkipUpdate", "Beta1Tensor", "Beta2Tensor", "EpsilonTensor"];
    let flag = |name| desc.attr_bool(name).map(|flag| flag.unwrap_or(false));
    if others.iter().any(|slot| !desc.input(slot).is_empty()) || flag("use_global_beta_pow")? {
        return Ok(None);
    }
    // No attribute of an update refers to a program.
    let Op::Update(update) = derived::with_attributes(&Program::new(), desc, &update.into())? else {
        return Ok(None);
    };
    Ok(Some(match update {
        Update::AdamW(AdamW { beta1, beta2, epsilon, .. }) if !flag("with_decay")? => {
            Update::Adam(Adam { beta1, beta2, epsilon, lazy_mode: false })
        }
        Update::Momentum(momentum) => {
            let attribute = "regularization_method";
            match desc.attr_string(attribute)?.unwrap_or_default() {
                "" => Update::Momentum(Momentum { regularization_coeff: 0.0, ..momentum }),
                L2 => update,
                other => {
                    let message = format!("there is no regularization `{other}`; there is `{L2}`");
                    return Err(Fault::Attribute { attribute, message });
                }
            }
        }
        update => update,
    }))
}

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
