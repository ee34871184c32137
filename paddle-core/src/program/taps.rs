//! Names that callers rely on: those of outputs and of taps.

use super::{BlockId, BuildError, Definition, OpInterface, Program, VarId};

/// A tap: a value that can be fetched by name though the network does not return it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tap {
    /// The name.
    pub name: String,
    /// The tapped value, in the global block.
    pub var: VarId,
}

impl<O: OpInterface> Program<O> {
    /// The taps of the program.
    pub fn taps(&self) -> &[Tap] {
        &self.taps
    }

    /// Adds a tap on a value of the global block.
    pub fn tap(&mut self, name: &str, var: VarId) -> Result<(), BuildError> {
        let value = self.vars.get(var.0 as usize).ok_or(BuildError::NoSuch { what: "value" })?;
        if value.block != BlockId::GLOBAL {
            return Err(BuildError::NotVisible { name: value.name.clone() });
        }
        if self.taps.iter().any(|tap| tap.name == name) {
            return Err(BuildError::NameTaken { name: name.into() });
        }
        self.taps.push(Tap { name: name.into(), var });
        Ok(())
    }

    /// Gives the output of an operator exactly this name; a value that has the name gets the other's old name. Returns
    /// `false`, and changes nothing, if either is an input or a parameter.
    pub fn claim_name(&mut self, var: VarId, name: &str) -> bool {
        let is_computed = |var: VarId| {
            matches!(self.var(var).definition, Definition::Operator | Definition::BlockParameter)
        };
        let holder = self.find(name).filter(|holder| *holder != var);
        if !is_computed(var) || holder.is_some_and(|holder| !is_computed(holder)) {
            return false;
        }
        match holder {
            Some(holder) => self.swap_names(var, holder),
            None => self.rename(var, name),
        }
        true
    }
}
