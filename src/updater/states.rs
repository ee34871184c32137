//! What a trainer's updater keeps of one set of parameters.

use std::sync::{Arc, Weak};

use paddle_core::passes::accumulate::SUM_OF_GRADIENTS;
use paddle_core::plan::{Backend, Storage, Stored, initialize_states, state_name, stored_name};
use paddle_core::program::{Program, Type};

use crate::Error;
use crate::element::Values;
use crate::parameters::Parameters;

/// The states of a set of parameters. Networks that share a parameter share its states.
pub(crate) struct States<B: Backend> {
    parameters: Weak<()>,
    pub(crate) storage: Storage,
    pub(crate) buffer: B::Buffer,
    /// Parameter and slot of each, in the order of creation; none of what does not outlive a step.
    keys: Vec<Option<(String, String)>>,
}

impl<B: Backend> States<B> {
    /// None yet.
    pub(crate) fn new(parameters: &Parameters<B>) -> Result<Self, Error> {
        let buffer = parameters.backend().allocate(0)?;
        let parameters = Arc::downgrade(parameters.identity());
        Ok(States { parameters, storage: Storage::new(), buffer, keys: Vec::new() })
    }

    /// Whether they are those of this set.
    pub(crate) fn is_of(&self, parameters: &Parameters<B>) -> bool {
        Weak::as_ptr(&self.parameters) == Arc::as_ptr(parameters.identity())
    }

    /// Whether the parameters are still there.
    pub(crate) fn is_alive(&self) -> bool {
        self.parameters.strong_count() > 0
    }

    /// Parameter and slot of each.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().map(|(key, _)| key)
    }

    /// The same, and where it is stored.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ((&str, &str), &Stored)> {
        let stored = self.keys.iter().zip(self.storage.iter());
        stored.filter_map(|(key, stored)| {
            let (parameter, slot) = key.as_ref()?;
            Some(((parameter.as_str(), slot.as_str()), stored))
        })
    }

    /// The name that the state of a parameter in a slot is stored under.
    pub(crate) fn stored(&self, parameter: &str, slot: &str) -> Option<String> {
        let (_, stored) = self.iter().find(|(key, _)| *key == (parameter, slot))?;
        Some(stored.name.clone())
    }

    /// Adds the state of a parameter in a slot, which is not there yet, with its values.
    pub(crate) fn insert(
        &mut self,
        backend: &B,
        (parameter, slot): (&str, &str),
        ty: &Type,
        values: &Values,
    ) -> Result<(), Error> {
        let name = state_name(parameter, slot);
        let offset = self.storage.bytes();
        self.storage.insert(backend.element_bytes(ty.dtype), &name, ty)?;
        backend.grow(&mut self.buffer, self.storage.bytes())?;
        backend.upload(values.as_slice(), &mut self.buffer, offset);
        self.keys.push(Some((parameter.to_string(), slot.to_string())));
        Ok(())
    }

    /// Makes room for the states of a program that are not there yet, and initialises them.
    pub(crate) fn extend(&mut self, backend: &B, program: &Program) -> Result<(), Error> {
        let mut created = Vec::new();
        for state in program.states() {
            let (name, ty) = (stored_name(program, state.var), program.ty(state.var));
            let is_new = self.storage.find(&name).is_none();
            self.storage.insert(backend.element_bytes(ty.dtype), &name, ty)?;
            if is_new {
                let key = || (program.var(state.parameter).name.clone(), state.slot.clone());
                self.keys.push((state.slot != SUM_OF_GRADIENTS).then(key));
                created.push(name);
            }
        }
        if created.is_empty() {
            return Ok(());
        }
        backend.grow(&mut self.buffer, self.storage.bytes())?;
        let wanted = |name: &str| created.iter().any(|created| created == name);
        Ok(initialize_states(backend, program, &self.storage, &wanted, &mut self.buffer)?)
    }
}
