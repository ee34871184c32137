//! Operators without a definition are kept as they came.
//!
//! The stored description has no names of variables, no role and no place, as the program holds these. A name in it
//! only says whether a slot has a variable.

use super::Reading;
use crate::convert::dialect::{CALLSTACK, EMPTY, ROLE, ROLE_VAR, TYPES};
use crate::convert::error::{ConvertError, Fault};
use crate::convert::types::parse_type;
use crate::ops::{Foreign, Program};
use crate::program::Type;
use crate::wire::{OpDesc, OpVar};

impl<'a> Reading<'_, 'a> {
    /// Keeps an operator that was kept before.
    pub(super) fn foreign(&mut self) -> Result<(), ConvertError> {
        let desc = self.desc;
        let inputs = names(&desc.inputs).map(|name| self.reader.value(self.block, name));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let outputs: Vec<&'a str> = names(&desc.outputs).collect();
        let types = types(&self.reader.program, desc)?.ok_or(Fault::MissingAttribute { attribute: TYPES })?;
        let op = foreign(desc, types, outputs.len())?;
        self.append(op.into(), &inputs, &[], &outputs)
    }
}

/// The names of variables in slots.
pub(in crate::convert) fn names(slots: &[OpVar]) -> impl Iterator<Item = &str> {
    slots.iter().flat_map(|slot| &slot.arguments).map(String::as_str).filter(|name| *name != EMPTY)
}

/// The exact types of the outputs, if they are written.
pub(in crate::convert) fn types(program: &Program, desc: &OpDesc) -> Result<Option<Vec<Type>>, Fault> {
    let Some(texts) = desc.attr_strings(TYPES)? else { return Ok(None) };
    let parse = |text: &String| {
        let ty = parse_type(program, text).filter(Type::is_possible);
        let message = || format!("`{text}` is not a type");
        ty.ok_or_else(|| Fault::Attribute { attribute: TYPES, message: message() })
    };
    texts.iter().map(parse).collect::<Result<Vec<Type>, Fault>>().map(Some)
}

/// The operator as it is stored, which has so many outputs.
pub(in crate::convert) fn foreign(desc: &OpDesc, types: Vec<Type>, outputs: usize) -> Result<Foreign, Fault> {
    if types.len() != outputs {
        let message = format!("{} types for {outputs} outputs", types.len());
        return Err(Fault::Attribute { attribute: TYPES, message });
    }
    Ok(Foreign { name: desc.r#type.clone(), desc: anonymous(desc), types })
}

/// The description as it is stored.
pub(in crate::convert) fn anonymous(desc: &OpDesc) -> Vec<u8> {
    let mut desc = desc.clone();
    let ours = [ROLE, ROLE_VAR, CALLSTACK, TYPES];
    desc.attrs.retain(|attr| !ours.contains(&attr.name.as_str()));
    for argument in desc.inputs.iter_mut().chain(&mut desc.outputs).flat_map(|slot| &mut slot.arguments) {
        if argument != EMPTY {
            argument.clear();
        }
    }
    desc.encode_to_vec()
}
