//! Operators without a rule are kept as they came.
//!
//! The stored description has no names of variables, no role and no place, as the program holds these. A name in it
//! only says whether a slot has a variable.

use std::collections::BTreeSet;

use crate::convert::dialect::{CALLSTACK, EMPTY, ROLE, ROLE_VAR, TYPES};
use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::convert::types::parse_type;
use crate::ops::Foreign;
use crate::program::{RowsId, Type};
use crate::wire::{AttrType, OpDesc, OpVar};

impl<'a> Reading<'_, 'a> {
    /// Keeps an unknown operator. Its outputs have their declared types.
    pub(super) fn foreign(&mut self) -> Result<(), ConvertError> {
        let desc = self.desc;
        let blocks = [AttrType::Block, AttrType::Blocks].map(i32::from);
        if desc.attrs.iter().any(|attr| blocks.contains(&attr.r#type)) {
            return Err(Fault::UnknownStructure.into());
        }
        let names = |slots: &'a [OpVar]| {
            slots.iter().flat_map(|slot| &slot.arguments).map(String::as_str).filter(|name| *name != EMPTY)
        };
        let inputs = names(&desc.inputs).map(|name| self.read(name)).collect::<Result<Vec<_>, _>>()?;
        let outputs: Vec<&'a str> = names(&desc.outputs).collect();
        let types = match desc.attr_strings(TYPES)? {
            Some(texts) => {
                let parse = |text: &String| {
                    let ty = parse_type(&self.reader.draft.program, text);
                    ty.filter(Type::is_possible).ok_or_else(|| Fault::Attribute {
                        attribute: TYPES,
                        message: format!("`{text}` is not a type"),
                    })
                };
                texts.iter().map(parse).collect::<Result<Vec<_>, _>>()?
            }
            None => {
                // Most operators hand on the sequences that they get.
                let types = inputs.iter().map(|&input| self.ty(input));
                let sequences = types.filter(|ty| self.reader.draft.program.is_sequence(ty));
                let tokens: BTreeSet<RowsId> = sequences.filter_map(|ty| ty.rows).collect();
                let only = tokens.first().copied().filter(|_| tokens.len() == 1);
                outputs.iter().map(|name| self.declared(name, only)).collect::<Result<Vec<_>, _>>()?
            }
        };
        if types.len() != outputs.len() {
            let message = format!("{} types for {} outputs", types.len(), outputs.len());
            return Err(Fault::Attribute { attribute: TYPES, message }.into());
        }
        let op = Foreign { name: desc.r#type.clone(), desc: anonymous(desc), types };
        self.define(op, &inputs, &[], &outputs)?;
        Ok(())
    }

    /// The declared type of a variable that is visible here.
    fn declared(&mut self, name: &str, tokens: Option<RowsId>) -> Result<Type, Fault> {
        match self.reader.declaration(self.block, name) {
            Some(var) => self.reader.declared_type(var, true, tokens),
            None => Err(Fault::Undeclared { name: name.to_string() }),
        }
    }
}

/// The description as it is stored.
pub(super) fn anonymous(desc: &OpDesc) -> Vec<u8> {
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
