//! What a step changes before it is known whether it can update: statistics, which operators move as they compute.

use paddle_core::plan::{Backend, Stored};
use paddle_core::program::Program;

use crate::element::Values;
use crate::parameters::Parameters;

/// The parameters of a network that its operators change, as they were before a step.
pub(super) struct Statistics<B> {
    backend: B,
    /// The place of each, and its elements.
    values: Vec<(usize, Values)>,
}

impl<B: Backend + Clone> Statistics<B> {
    /// Those of a network, which are not known yet.
    pub(super) fn new(network: &Program, parameters: &Parameters<B>) -> Self {
        let operators = network.blocks().iter().flat_map(|block| &block.ops);
        let changed = operators.flat_map(|operator| {
            operator
                .op
                .operation()
                .changes()
                .iter()
                .map(|&slot| network.var(operator.inputs[slot]).name.as_str())
        });
        let room = |stored: &Stored| {
            let mut values = Values::new(stored.dtype);
            values.resize(stored.elements());
            (stored.offset, values)
        };
        let values = changed.filter_map(|name| parameters.storage().find(name)).map(room).collect();
        Statistics { backend: parameters.backend().clone(), values }
    }
}

impl<B: Backend> Statistics<B> {
    /// Before a step.
    pub(super) fn keep(&mut self, parameters: &B::Buffer) {
        for (offset, values) in &mut self.values {
            self.backend.download(parameters, *offset, values.as_slice_mut());
        }
    }

    /// After a step that is not to have been.
    pub(super) fn restore(&self, parameters: &mut B::Buffer) {
        for (offset, values) in &self.values {
            self.backend.upload(values.as_slice(), parameters, *offset);
        }
    }
}
