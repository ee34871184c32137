//! Writes operators without a rule as they came.

use crate::convert::dialect::{EMPTY, TYPES};
use crate::convert::types::type_text;
use crate::ops::Foreign;
use crate::wire::{OpAttr, OpDesc, OpVar};

/// The description as it came, with the variables that its slots have now.
pub(super) fn describe_foreign(foreign: &Foreign, inputs: &[String], outputs: &[String]) -> OpDesc {
    let mut desc = match OpDesc::decode(&foreign.desc) {
        Ok(desc) if count(&desc.inputs) == inputs.len() && count(&desc.outputs) == outputs.len() => desc,
        _ => OpDesc::new(foreign.name.clone())
            .with_input("X", inputs.iter().cloned())
            .with_output("Out", outputs.iter().cloned()),
    };
    for (slots, names) in [(&mut desc.inputs, inputs), (&mut desc.outputs, outputs)] {
        let arguments = slots.iter_mut().flat_map(|slot| &mut slot.arguments);
        for (argument, name) in arguments.filter(|argument| *argument != EMPTY).zip(names) {
            argument.clone_from(name);
        }
    }
    desc.attrs.push(OpAttr::strings(TYPES, foreign.types.iter().map(type_text)));
    desc
}

fn count(slots: &[OpVar]) -> usize {
    slots.iter().flat_map(|slot| &slot.arguments).filter(|argument| *argument != EMPTY).count()
}
