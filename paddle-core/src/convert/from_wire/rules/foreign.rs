//! Operators without a rule are kept as they came.

use std::collections::BTreeSet;

use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::convert::ours::foreign::{foreign, names, types};
use crate::program::{RowsId, Type};
use crate::wire::AttrType;

impl<'a> Reading<'_, 'a> {
    /// Keeps an unknown operator. Its outputs have their declared types.
    pub(super) fn foreign(&mut self) -> Result<(), ConvertError> {
        let desc = self.desc;
        let blocks = [AttrType::Block, AttrType::Blocks].map(i32::from);
        if desc.attrs.iter().any(|attr| blocks.contains(&attr.r#type)) {
            return Err(Fault::UnknownStructure.into());
        }
        let inputs = names(&desc.inputs).map(|name| self.read(name)).collect::<Result<Vec<_>, _>>()?;
        let outputs: Vec<&'a str> = names(&desc.outputs).collect();
        let types = match types(&self.reader.draft.program, desc)? {
            Some(types) => types,
            None => {
                // Most operators hand on the sequences that they get.
                let types = inputs.iter().map(|&input| self.ty(input));
                let sequences = types.filter(|ty| self.reader.draft.program.is_sequence(ty));
                let tokens: BTreeSet<RowsId> = sequences.filter_map(|ty| ty.rows).collect();
                let only = tokens.first().copied().filter(|_| tokens.len() == 1);
                outputs.iter().map(|name| self.declared(name, only)).collect::<Result<Vec<_>, _>>()?
            }
        };
        self.define(foreign(desc, types, outputs.len())?, &inputs, &[], &outputs)?;
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
