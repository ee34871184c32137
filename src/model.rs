//! Models: decoded networks, with what the runtime knows of them. A process decodes each network once.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use paddle_core::ops::Program;
use paddle_core::program::{DType, VarId};

use crate::Error;

/// A decoded network. Two [`Network`](crate::Network)s are the same if they share their model.
#[derive(Debug)]
pub struct Model {
    pub(crate) program: Program,
    pub(crate) signature: Arc<Signature>,
    pub(crate) outputs: Vec<OutputSpec>,
}

/// The inputs of a network. A batch holds these, and not the program.
#[derive(Debug)]
pub(crate) struct Signature {
    /// The name of the topology, for messages.
    pub(crate) network: String,
    /// The inputs, in the order in which they are fed.
    pub(crate) inputs: Vec<Variable>,
}

/// An input or an output of a network, as its callers see it.
///
/// ```
/// use paddle::core::program::DType;
/// use paddle::network;
///
/// let net = network!(|x: Tensor<f32, _, 13>, words: Seq<i64>| (fc(x, 2), sequence_length(words)));
/// let [x, words] = net.inputs()? else { panic!("two inputs") };
/// assert_eq!((x.name.as_str(), x.dtype, &x.dims[..]), ("x", DType::F32, &[Some(13)][..]));
/// assert_eq!((x.to_string(), words.to_string()), ("x: f32[_, 13]".into(), "words: Seq<i64>".into()));
/// assert_eq!((words.levels, words.batched), (1, true));
/// assert_eq!(net.outputs()?[1].shown, "i64[_]");
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// Its name in the program.
    pub name: String,
    /// The type of its elements.
    pub dtype: DType,
    /// Whether it has a value for each row of the batch. Otherwise all rows share one value.
    pub batched: bool,
    /// The number of levels of sequences: 0 for none, 2 for sequences of sequences.
    pub levels: usize,
    /// The dimensions behind that of the batch or, for sequences, of one token; `None` for a size that is known only at
    /// run time.
    pub dims: Vec<Option<usize>>,
    /// The type in the user's words: `f32[_, 13]`.
    pub shown: String,
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.shown)
    }
}

/// The properties of an output.
#[derive(Debug)]
pub(crate) struct OutputSpec {
    pub(crate) name: String,
    /// Whether it is a single number: a cost or a metric.
    pub(crate) scalar: bool,
}

impl Model {
    /// The model of a well-formed program.
    pub(crate) fn new(name: &str, program: Program) -> Self {
        let inputs = program.inputs().iter().map(|&input| variable(&program, input)).collect();
        let output = |&output: &VarId| OutputSpec {
            name: program.var(output).name.clone(),
            scalar: program.ty(output).is_scalar() && program.ty(output).dtype.is_float(),
        };
        let outputs = program.outputs().iter().map(output).collect();
        let signature = Arc::new(Signature { network: name.to_string(), inputs });
        Model { signature, outputs, program }
    }

    /// The model of an embedded program. `spec` is the type of the network: it identifies the model, so a network that
    /// is created repeatedly is decoded once.
    pub(crate) fn embedded(
        spec: TypeId,
        decode: &dyn Fn() -> Result<Model, Error>,
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

    /// The outputs, in the order in which the network returns them.
    pub(crate) fn output_variables(&self) -> Vec<Variable> {
        self.program.outputs().iter().map(|&output| variable(&self.program, output)).collect()
    }

    /// The outputs that are metrics, with their indices: the scalars behind the cost.
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

fn variable(program: &Program, input: VarId) -> Variable {
    let ty = program.ty(input);
    let levels = program.levels(ty).len();
    let batched = levels > 0 || ty.rows.is_some_and(|rows| program.row_space(rows).name == "_");
    let shape = program.shape(ty);
    let size = |dim: &paddle_core::program::Dim| dim.constant().and_then(|size| usize::try_from(size).ok());
    Variable {
        name: program.var(input).name.clone(),
        dtype: ty.dtype,
        batched,
        levels,
        dims: shape[usize::from(batched)..].iter().map(size).collect(),
        shown: program.show(ty),
    }
}
