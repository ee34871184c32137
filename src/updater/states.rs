//! The states that a trainer's updater keeps for one set of parameters.

use std::path::Path;
use std::sync::{Arc, Weak};

use paddle_core::ops::Program;
use paddle_core::passes::accumulate::is_of_one_step;
use paddle_core::plan::{
    Backend, Buffers, Storage, Stored, initialize_states, side_of, state_name, stored_name,
};
use paddle_core::program::Type;

use crate::Error;
use crate::element::Values;
use crate::files::safetensors::{TensorFile, shown};
use crate::files::{FileFault, LoadReport, Mismatch};
use crate::parameters::Parameters;

/// What the memory is for, in errors.
const WHAT: &str = "the state";

/// The states of a set of parameters. Networks that share a parameter share its states.
pub(crate) struct States<B: Backend> {
    parameters: Weak<()>,
    pub(crate) storage: Storage,
    pub(crate) buffers: Buffers<B>,
    /// The parameter and the slot of each state, in the order of creation; none for states that do not outlive a
    /// step.
    keys: Vec<Option<(String, String)>>,
}

impl<B: Backend> States<B> {
    /// A set without states.
    pub(crate) fn new(parameters: &Parameters<B>) -> Self {
        let parameters = Arc::downgrade(parameters.identity());
        States { parameters, storage: Storage::new(), buffers: Buffers::default(), keys: Vec::new() }
    }

    /// The identity of the parameters.
    pub(crate) fn identity(&self) -> &Weak<()> {
        &self.parameters
    }

    /// Whether the states belong to these parameters.
    pub(crate) fn is_of(&self, parameters: &Parameters<B>) -> bool {
        Weak::as_ptr(&self.parameters) == Arc::as_ptr(parameters.identity())
    }

    /// Whether the parameters still exist.
    pub(crate) fn is_alive(&self) -> bool {
        self.parameters.strong_count() > 0
    }

    /// The parameter and the slot of each state.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().map(|(key, _)| key)
    }

    /// The parameter and the slot of each state, and its value.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ((&str, &str), &Stored)> {
        let stored = self.keys.iter().zip(self.storage.iter());
        stored.filter_map(|(key, stored)| {
            let (parameter, slot) = key.as_ref()?;
            Some(((parameter.as_str(), slot.as_str()), stored))
        })
    }

    /// The name under which the state of a parameter in a slot is stored.
    pub(crate) fn stored(&self, parameter: &str, slot: &str) -> Option<String> {
        let (_, stored) = self.iter().find(|(key, _)| *key == (parameter, slot))?;
        Some(stored.name.clone())
    }

    /// Adds the state of a parameter in a slot, with its values. It must not exist yet.
    pub(crate) fn insert(
        &mut self,
        backend: &B,
        (parameter, slot): (&str, &str),
        ty: &Type,
        values: &Values,
    ) -> Result<(), Error> {
        let name = state_name(parameter, slot);
        self.storage.insert(backend.element_bytes(ty.dtype), &name, ty)?;
        self.storage.allocate(backend, &mut self.buffers, WHAT)?;
        if let Some(stored) = self.storage.find(&name) {
            self.buffers.upload(backend, stored, values.as_slice());
        }
        self.keys.push(Some((parameter.to_string(), slot.to_string())));
        Ok(())
    }

    /// Reads states from the tensors of these names. Each has the shape of its parameter, or one element.
    pub(crate) fn read(
        parameters: &Parameters<B>,
        file: &mut TensorFile,
        names: impl Iterator<Item = (String, String, String)>,
        path: &Path,
    ) -> Result<Self, Error> {
        let (mut states, mut report) = (States::new(parameters), LoadReport::default());
        let mut found = Vec::new();
        for (parameter, slot, tensor) in names {
            let Some(stored) = parameters.storage().find(&parameter) else {
                report.extra.push(tensor);
                continue;
            };
            let shapes = [&stored.dims[..], &[1]];
            match shapes.map(|dims| (dims, file.compare(&tensor, stored.dtype, dims))) {
                [(dims, Some(Ok(()))), _] | [_, (dims, Some(Ok(())))] => {
                    found.push((parameter, slot, tensor, stored.dtype, dims))
                }
                [(_, Some(Err(found))), _] => {
                    let (parameter, expected) = (tensor.clone(), shown(stored.dtype, &stored.dims));
                    report.mismatched.push(Mismatch { parameter, tensor, found, expected });
                }
                [(_, None), _] => report.missing.push(tensor),
            }
        }
        if (report.missing.len(), report.extra.len(), report.mismatched.len()) != (0, 0, 0) {
            return Err(FileFault::Differs(report).of(path).into());
        }
        for (parameter, slot, tensor, dtype, dims) in found {
            let values = file.read(&tensor, dtype)?;
            let dims: Vec<_> = dims.iter().map(|&dim| dim as i64).collect();
            states.insert(parameters.backend(), (&parameter, &slot), &Type::new(dtype, dims), &values)?;
        }
        Ok(states)
    }

    /// Sets the state of a parameter in a slot, if it exists.
    #[cfg(feature = "cluster")]
    pub(crate) fn set(&mut self, backend: &B, parameter: &str, slot: &str, values: &Values) {
        let Some(name) = self.stored(parameter, slot) else { return };
        if let Some(stored) = self.storage.find(&name).filter(|stored| stored.elements() == values.len()) {
            self.buffers.upload(backend, stored, values.as_slice());
        }
    }

    /// Adds the states of a program that do not exist yet, and initialises them. After an error none of these exist.
    pub(crate) fn extend(&mut self, backend: &B, program: &Program) -> Result<(), Error> {
        let (mut storage, mut keys, mut created) = (self.storage.clone(), Vec::new(), Vec::new());
        for state in program.states() {
            let (name, ty) = (stored_name(program, state.var), program.ty(state.var));
            let is_new = storage.find(&name).is_none();
            storage.insert_on(
                side_of(backend, program, state.var),
                backend.element_bytes(ty.dtype),
                &name,
                ty,
            )?;
            if is_new {
                let key = || (program.var(state.parameter).name.clone(), state.slot.clone());
                keys.push((!is_of_one_step(&state.slot)).then(key));
                created.push(name);
            }
        }
        if created.is_empty() {
            return Ok(());
        }
        storage.allocate(backend, &mut self.buffers, WHAT)?;
        let wanted = |name: &str| created.iter().any(|created| created == name);
        let initialized = initialize_states(backend, program, &storage, &wanted, &mut self.buffers);
        initialized.inspect_err(|_| self.storage.truncate(&mut self.buffers))?;
        self.storage = storage;
        self.keys.append(&mut keys);
        Ok(())
    }
}
