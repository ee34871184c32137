//! States of updaters: values that belong to a parameter, live from step to step, and are not parameters themselves.

use super::build::{BuildError, Inferred};
use super::{BlockId, Definition, OpInterface, Operator, Program, Site, VarId};

/// A value that an updater keeps for one parameter.
///
/// The parameter and the slot identify a state, so programs with the same parameter have the same state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdaterState {
    /// The value.
    pub var: VarId,
    /// The parameter that it belongs to.
    pub parameter: VarId,
    /// The slot of the updating operator that reads and changes the state: `Moment1`.
    pub slot: String,
}

impl<O: OpInterface> Program<O> {
    /// Adds a state of a parameter to the global block, and its initialiser to the startup part. A second call for the
    /// same parameter and slot returns the same state, and errors if the types differ.
    pub fn create_state(
        &mut self,
        parameter: VarId,
        slot: &str,
        initializer: impl Into<O>,
    ) -> Result<VarId, BuildError> {
        let initializer = initializer.into();
        if let Some(known) = self.find_state(parameter, slot) {
            let ty = self.infer_initializer(&initializer)?;
            return match ty.as_ref() == Some(self.ty(known)) {
                true => Ok(known),
                false => Err(BuildError::NameTaken { name: self.var(known).name.clone() }),
            };
        }
        let name = self.fresh_name(&format!("{}@{slot}", self.var(parameter).name));
        self.add_state(&name, parameter, slot, initializer)
    }

    /// Like [`create_state`](Self::create_state), with a given name.
    pub(crate) fn add_state(
        &mut self,
        name: &str,
        parameter: VarId,
        slot: &str,
        initializer: O,
    ) -> Result<VarId, BuildError> {
        let wrong = || BuildError::NotAnInitializer { name: name.to_string() };
        if self.check_var(parameter)?.definition != Definition::Parameter {
            return Err(BuildError::NotAState { name: name.to_string() });
        }
        let Inferred { types, checks } = self.infer(BlockId::GLOBAL, &initializer, &[], &[], None)?;
        let [ty] = &types[..] else { return Err(wrong()) };
        if ty.rows.is_some() {
            return Err(wrong());
        }
        let var = self.add_var(name, ty.clone(), BlockId::GLOBAL, Definition::State)?;
        self.record(checks, None);
        let (inputs, blocks, site) = (Vec::new(), Vec::new(), Site::default());
        self.startup.push(Operator { op: initializer, inputs, outputs: vec![var], blocks, site });
        self.states.push(UpdaterState { var, parameter, slot: slot.to_string() });
        Ok(var)
    }

    /// The states of all parameters, in the order of creation.
    pub fn states(&self) -> &[UpdaterState] {
        &self.states
    }

    /// The state of a parameter in a slot.
    pub fn find_state(&self, parameter: VarId, slot: &str) -> Option<VarId> {
        let found = self.states.iter().find(|state| state.parameter == parameter && state.slot == slot);
        found.map(|state| state.var)
    }

    /// The parameter and the slot of a state, or `None` if the value is not a state.
    pub fn state(&self, var: VarId) -> Option<&UpdaterState> {
        self.states.iter().find(|state| state.var == var)
    }
}
