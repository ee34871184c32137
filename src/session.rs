//! A session: one network, planned for one set of parameters.

use std::sync::{Arc, Weak};

use paddle_core::ops::Program;
use paddle_core::passes::{PassError, Pipeline};
use paddle_core::plan::{Arithmetic, Backend, Executor, Feed, HostSliceMut, Storage};
use paddle_core::program::DType;

use crate::Error;
use crate::batch::{AnyRows, Table};
use crate::element::Values;
use crate::model::Model;
use crate::parameters::Parameters;

/// Lets a network have the operators for which this device has kernels that compute more at a time.
pub(crate) fn for_device<B: Backend>(backend: &B, program: &mut Program) -> Result<(), PassError> {
    Pipeline::for_device(&|op, types| backend.supports(op, types)).run(program)
}

/// A plan, and the buffers to feed it.
pub(crate) struct Session<B: Backend> {
    model: Weak<Model>,
    parameters: Weak<()>,
    pub(crate) executor: Executor<B>,
    /// The table in which rows become columns. It keeps its memory.
    pub(crate) scratch: Table,
}

impl<B: Backend + Clone> Session<B> {
    /// Plans `program`, which is the program of `model` or was derived from it.
    pub(crate) fn new(
        model: &Arc<Model>,
        program: &Program,
        parameters: &Parameters<B>,
        states: &Storage,
        arithmetic: Arithmetic,
    ) -> Result<Self, Error> {
        let backend = parameters.backend().clone();
        let executor = Executor::with_states(backend, program, parameters.storage(), states, arithmetic)?;
        Ok(Session {
            model: Arc::downgrade(model),
            parameters: Arc::downgrade(parameters.identity()),
            executor,
            scratch: Table::new(&model.signature),
        })
    }
}

impl<B: Backend> Session<B> {
    /// Whether the session is for this model and these parameters.
    pub(crate) fn is_for(&self, model: &Arc<Model>, parameters: &Arc<()>) -> bool {
        Weak::as_ptr(&self.model) == Arc::as_ptr(model)
            && Weak::as_ptr(&self.parameters) == Arc::as_ptr(parameters)
    }

    /// Which parameters it was planned for.
    pub(crate) fn parameters(&self) -> &Weak<()> {
        &self.parameters
    }

    /// Whether the network and the parameters still exist.
    pub(crate) fn is_alive(&self) -> bool {
        self.model.strong_count() > 0 && self.parameters.strong_count() > 0
    }

    /// Feeds a batch, and then `scalars` to the inputs behind those of the network. Returns the number of rows.
    pub(crate) fn feed(&mut self, rows: &dyn AnyRows, scalars: &[Values]) -> Result<usize, Error> {
        let table = rows.columns(&mut self.scratch)?;
        let count = table.rows()?;
        let inputs = table.len();
        self.executor.clear_stats();
        self.executor.begin(&|k| match k.checked_sub(inputs) {
            None => table.feed(k),
            Some(k) => fed(&scalars[k]),
        })?;
        Ok(count)
    }

    /// The value of an output with one element.
    pub(crate) fn scalar(&self, output: usize) -> f64 {
        scalar(&self.executor, output)
    }
}

/// The value of an output with one element, for the batch that was just computed.
pub(crate) fn scalar<B: Backend>(executor: &Executor<B>, output: usize) -> f64 {
    macro_rules! fetch {
        ($variant:ident, $zero:expr) => {{
            let mut value = [$zero];
            executor.fetch(output, HostSliceMut::$variant(&mut value));
            value[0]
        }};
    }
    match executor.output_dtype(output) {
        DType::F64 => fetch!(F64, 0.0),
        DType::F32 => fetch!(F32, 0.0).into(),
        DType::I64 => fetch!(I64, 0) as f64,
        DType::I32 => fetch!(I32, 0).into(),
        DType::Bool => f64::from(u8::from(fetch!(Bool, false))),
    }
}

/// The value of an input with one element, to be fed.
pub(crate) fn fed(value: &Values) -> Feed<'_> {
    Feed { values: value.as_slice(), shape: &[], offsets: &[] }
}
