//! Runs a program on a backend, without the library around it.

use std::collections::BTreeMap;

use paddle::core::ops::Program;
use paddle::core::plan::{Backend, Buffers, Executor, Part, Storage, StoredValues, initialize};

use super::tensor::{Tensor, Values};

/// A program that is ready to run.
pub(crate) struct Runner<B: Backend> {
    backend: B,
    storage: Storage,
    executor: Executor<B>,
    parameters: Buffers<B>,
}

impl<B: Backend + Clone> Runner<B> {
    /// Plans the program and initialises its parameters.
    pub(crate) fn new(backend: B, program: &Program) -> Self {
        let mut storage = Storage::new();
        for parameter in program.parameters() {
            let var = program.var(parameter);
            let bytes = backend.element_bytes(var.ty.dtype);
            storage.insert(bytes, &var.name, &var.ty).expect("parameters have fixed sizes");
        }
        let mut parameters = Buffers::default();
        storage.allocate(&backend, &mut parameters, "the parameters").expect("there is memory");
        initialize(&backend, program, &storage, &|_| true, &mut parameters, 1)
            .expect("they can be initialised");
        let executor =
            Executor::new(backend.clone(), program, &storage).unwrap_or_else(|error| panic!("{error}"));
        Runner { backend, storage, executor, parameters }
    }

    /// The values of the parameters.
    pub(crate) fn parameters(&self) -> BTreeMap<String, Tensor> {
        let read = |stored: &paddle::core::plan::Stored| {
            let mut values = Values::zeros(stored.dtype, stored.elements());
            self.parameters.download(&self.backend, stored, 0, values.slice_mut());
            (stored.name.clone(), Tensor { shape: stored.dims.clone(), values, offsets: Vec::new() })
        };
        self.storage.iter().map(read).collect()
    }

    /// Sets the values of those parameters that the program has.
    pub(crate) fn set_known(&mut self, parameters: &BTreeMap<String, Tensor>) {
        let mine = parameters.iter().filter(|(name, _)| self.storage.find(name).is_some());
        let mine = mine.map(|(name, tensor)| (name.clone(), tensor.clone())).collect();
        self.set(&mine);
    }

    /// Sets the values of parameters.
    pub(crate) fn set(&mut self, parameters: &BTreeMap<String, Tensor>) {
        for (name, tensor) in parameters {
            let stored = self.storage.find(name).unwrap_or_else(|| panic!("there is no parameter `{name}`"));
            assert_eq!(stored.dims, tensor.shape, "{name}");
            self.parameters.upload(&self.backend, stored, tensor.values.slice());
        }
    }

    /// The outputs for a batch.
    pub(crate) fn run(&mut self, inputs: &[Tensor]) -> Vec<Tensor> {
        self.compute(inputs, &[Part::Compute])
    }

    /// The outputs for a batch, and after it the updates of the parameters.
    pub(crate) fn step(&mut self, inputs: &[Tensor]) -> Vec<Tensor> {
        self.compute(inputs, &[Part::Compute, Part::Update])
    }

    fn compute(&mut self, inputs: &[Tensor], parts: &[Part]) -> Vec<Tensor> {
        assert_eq!(self.executor.input_count(), inputs.len());
        self.executor.begin(&|i| inputs[i].feed()).unwrap_or_else(|error| panic!("{error}"));
        for &part in parts {
            self.executor.run(part, &mut self.parameters).unwrap_or_else(|error| panic!("{error}"));
        }
        let output = |i| {
            let shape = self.executor.output_shape(i).to_vec();
            let mut values = Values::zeros(self.executor.output_dtype(i), shape.iter().product());
            self.executor.fetch(i, values.slice_mut());
            let offsets = self.executor.output_offsets(i).enumerate().map(|(level, count)| {
                let mut offsets = vec![0; count];
                self.executor.fetch_offsets(i, level, &mut offsets);
                offsets
            });
            Tensor { shape, values, offsets: offsets.collect() }
        };
        (0..self.executor.output_count()).map(output).collect()
    }
}
