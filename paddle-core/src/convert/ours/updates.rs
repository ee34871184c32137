//! Reads updates, whose attributes are those of PaddlePaddle.

use crate::convert::derived;
use crate::convert::error::Fault;
use crate::convert::to_wire::updates::L2;
use crate::ops::{Adam, AdamW, Momentum, Op, Program, Update};
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
