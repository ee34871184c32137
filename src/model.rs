//! What the runtime knows of a network, once per process.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use paddle_core::ops::Program;
use paddle_core::program::{DType, VarId};

use crate::Error;

/// A decoded network. Two [`Network`](crate::Network)s are the same if they share it.
#[derive(Debug)]
pub struct Model {
    pub(crate) program: Program,
    pub(crate) signature: Arc<Signature>,
    pub(crate) outputs: Vec<OutputSpec>,
}

/// What a network is fed with. Batches hold it, not the program.
#[derive(Debug)]
pub(crate) struct Signature {
    /// The name of the topology, for messages.
    pub(crate) network: String,
    /// In the order in which they are fed.
    pub(crate) inputs: Vec<InputSpec>,
}

/// What an input has to be.
#[derive(Debug)]
pub(crate) struct InputSpec {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    /// Whether it has a value for each row of the batch; otherwise there is one for all rows.
    pub(crate) batched: bool,
    /// How many levels of sequences these values are: 0 for none, 2 for sequences of sequences.
    pub(crate) levels: usize,
    /// The dimensions behind the batch, of one token of a sequence; `None` where the size is bound at run time.
    pub(crate) dims: Vec<Option<usize>>,
    /// The type in the user's words: `f32[_, 13]`.
    pub(crate) shown: String,
}

/// What an output is.
#[derive(Debug)]
pub(crate) struct OutputSpec {
    pub(crate) name: String,
    /// Whether it is one number: a cost or a metric.
    pub(crate) scalar: bool,
}

impl Model {
    /// The model of a program that is well-formed.
    pub(crate) fn new(name: &str, program: Program) -> Self {
        let inputs = program.inputs().iter().map(|&input| input_spec(&program, input)).collect();
        let output = |&output: &VarId| OutputSpec {
            name: program.var(output).name.clone(),
            scalar: program.ty(output).is_scalar() && program.ty(output).dtype.is_float(),
        };
        let outputs = program.outputs().iter().map(output).collect();
        let signature = Arc::new(Signature { network: name.to_string(), inputs });
        Model { signature, outputs, program }
    }

    /// The model of an embedded program. `spec` is the type that stands for the network, so that a network that
    /// is made again and again is decoded once, and is the same each time.
    pub(crate) fn embedded(
        spec: TypeId,
        decode: impl FnOnce() -> Result<Model, Error>,
    ) -> Result<Arc<Model>, Error> {
        static DECODED: Mutex<BTreeMap<TypeId, Arc<Model>>> = Mutex::new(BTreeMap::new());
        let mut decoded = DECODED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = decoded.get(&spec) {
            return Ok(Arc::clone(model));
        }
        let model = Arc::new(decode()?);
        decoded.insert(spec, Arc::clone(&model));
        Ok(model)
    }

    /// The outputs that are reported as metrics, with their positions: the scalars behind the cost.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = (usize, &OutputSpec)> {
        self.outputs.iter().enumerate().skip(1).filter(|(_, output)| output.scalar)
    }
}

impl Signature {
    /// The names of the inputs.
    pub(crate) fn input_names(&self) -> Vec<String> {
        self.inputs.iter().map(|input| input.name.clone()).collect()
    }
}

fn input_spec(program: &Program, input: VarId) -> InputSpec {
    let ty = program.ty(input);
    let levels = program.levels(ty).len();
    let batched = levels > 0 || ty.rows.is_some_and(|rows| program.row_space(rows).name == "_");
    let shape = program.shape(ty);
    let size = |dim: &paddle_core::program::Dim| dim.constant().and_then(|size| usize::try_from(size).ok());
    InputSpec {
        name: program.var(input).name.clone(),
        dtype: ty.dtype,
        batched,
        levels,
        dims: shape[usize::from(batched)..].iter().map(size).collect(),
        shown: program.show(ty),
    }
}
