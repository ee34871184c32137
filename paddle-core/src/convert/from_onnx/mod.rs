//! Reads ONNX's models as `Program`s: the operators of its graphs as ours. See the [module documentation](super).
//!
//! A graph is in SSA already, and its operators are in an order in which they can run. Initialisers become parameters, if they
//! are in floating point and no scalars; other ones, and small constants, are written into the program. What is needed
//! while the program is read (the shape of a `Reshape`, the axes of a `Squeeze`) is looked up, whether it is an attribute, an
//! initialiser, or computed from shapes.

mod batch;
mod constant;
mod model;
mod node;
mod rules;
mod scope;

use std::collections::{BTreeMap, BTreeSet};

use self::constant::Constant;
pub use self::model::{OnnxModel, load_onnx, load_onnx_to_train};
use self::node::Node;
use self::scope::{Scope, Value};
use super::budget::{MEMORY, VALUE};
use super::draft::{At, Draft};
use super::error::{ConvertError, Fault, WirePlace};
use crate::ops::{Assign, Program};
use crate::program::{BlockId, Definition, Dim, Site, VarId};
use crate::wire::TensorRecord;
use crate::wire::onnx::{GraphProto, ModelProto};

/// The version of the operators before which most have other forms.
const OLDEST: i64 = 6;

/// The state of a reader.
struct Reader {
    draft: Draft,
    /// The version of ONNX's own operators.
    version: i64,
    /// Whether operators that were saved for inference are read as those of a training.
    trains: bool,
    /// What the names of values mean, the innermost graph last.
    scopes: Vec<Scope>,
    /// The number of graphs so far.
    graphs: usize,
    /// The sizes that have a name.
    sizes: BTreeMap<String, Dim>,
    /// The name of the batch, which is empty where it has none.
    batch_name: Option<String>,
    /// The values that have a name of the file.
    named: BTreeSet<VarId>,
    /// The initialisers that are statistics and nothing else, which are not trained.
    statistics: BTreeSet<String>,
    /// Statistics whose initialisers are something else, too, by what is normalised with them and the number of the input.
    own_statistics: BTreeMap<(String, usize), VarId>,
    /// The values of the parameters.
    parameters: BTreeMap<String, TensorRecord>,
    /// The faults so far.
    found: Vec<ConvertError>,
}

impl Reader {
    fn new(trains: bool) -> Self {
        Reader {
            draft: Draft::new(MEMORY),
            version: 0,
            trains,
            scopes: Vec::new(),
            graphs: 0,
            sizes: BTreeMap::new(),
            batch_name: None,
            named: BTreeSet::new(),
            statistics: BTreeSet::new(),
            own_statistics: BTreeMap::new(),
            parameters: BTreeMap::new(),
            found: Vec::new(),
        }
    }

    /// Reads a model. The program is complete if no fault was found.
    fn read(&mut self, model: &ModelProto) -> Result<(), ConvertError> {
        let own = |domain: &Option<String>| matches!(domain.as_deref(), None | Some("" | "ai.onnx"));
        let version = model.opset_import.iter().filter(|set| own(&set.domain)).map(|set| set.version).max();
        // A model of other operators alone has none of these.
        self.version = version.unwrap_or(if model.opset_import.is_empty() { 1 } else { OLDEST });
        let graph = &model.graph;
        self.statistics = statistics(graph);
        self.enter(Program::GLOBAL);
        self.initializers(graph)?;
        self.inputs(graph)?;
        self.nodes(graph)?;
        let outputs = self.outputs(graph)?;
        if !self.found.is_empty() {
            return Ok(());
        }
        let outputs =
            outputs.into_iter().zip(&graph.output).map(|(value, output)| self.output(value, &output.name));
        let outputs = outputs.collect::<Result<Vec<VarId>, Fault>>()?;
        let program = &mut self.draft.program;
        program.set_outputs(&outputs)?;
        program.verify().map_err(Fault::Verify)?;
        program.derive_checks();
        Ok(())
    }

    /// Reads the operators of a graph.
    fn nodes(&mut self, graph: &GraphProto) -> Result<(), ConvertError> {
        for (at, desc) in graph.node.iter().enumerate() {
            let number = self.scope().number;
            self.draft.spend(VALUE)?;
            let result = Node { reader: self, desc, merges: false }.operator();
            let place = || WirePlace {
                block: number,
                operator: at,
                op_type: desc.op_type.clone(),
                name: desc.name.clone().filter(|name| !name.is_empty()),
                source: None,
            };
            match result {
                Ok(()) => {}
                // What has no memory now has none for what follows, either.
                Err(fault @ Fault::Memory) => {
                    return Err(ConvertError { place: Some(Box::new(place())), fault });
                }
                Err(fault) => {
                    let is_known = rules::rule(desc).is_some();
                    let fault = match fault {
                        Fault::Unread { .. } if is_known => None,
                        Fault::Unread { .. } => Some(Fault::Unsupported),
                        fault => Some(fault),
                    };
                    self.found
                        .extend(fault.map(|fault| ConvertError { place: Some(Box::new(place())), fault }));
                    desc.output.iter().for_each(|name| self.forget(name));
                }
            }
        }
        Ok(())
    }

    /// The values of the outputs of a graph. An output that could not be read is passed over.
    fn outputs(&mut self, graph: &GraphProto) -> Result<Vec<VarId>, ConvertError> {
        let mut values = Vec::with_capacity(graph.output.len());
        for output in &graph.output {
            match self.operand(&output.name) {
                Ok(value) => values.push(value),
                Err(Fault::Unread { .. }) if !self.found.is_empty() => {}
                Err(fault) => self.found.push(fault.into()),
            }
        }
        Ok(values)
    }

    /// A value as an output of the network, under this name.
    fn output(&mut self, value: VarId, name: &str) -> Result<VarId, Fault> {
        let var = self.draft.program.var(value);
        if var.definition == Definition::Operator && var.name == name {
            return Ok(value);
        }
        let copy = self.at().emit(Assign, &[value])?;
        self.draft.program.rename(copy, name);
        Ok(copy)
    }

    /// The place where operators go.
    fn at(&mut self) -> At<'_> {
        let block = self.scope().block;
        At { draft: &mut self.draft, block, site: Site::default() }
    }

    /// Reads a graph that an operator owns, whose inputs are bound to these values, into a block. What its faults are has been
    /// noted when it is unread.
    fn nested(&mut self, graph: &GraphProto, block: BlockId, bound: Vec<Value>) -> Result<Vec<VarId>, Fault> {
        if self.scopes.len() > Program::MAX_DEPTH {
            return Err(Fault::TooDeep { block: self.scope().number, limit: Program::MAX_DEPTH });
        }
        let found = self.found.len();
        self.draft.spend(VALUE)?;
        self.enter(block);
        let result = self.bound(graph, bound);
        self.scopes.pop();
        let values = result.map_err(|error| error.fault)?;
        match self.found.len() > found || values.len() < graph.output.len() {
            true => Err(Fault::Unread { name: graph.name.clone().unwrap_or_default() }),
            false => Ok(values),
        }
    }

    fn bound(&mut self, graph: &GraphProto, bound: Vec<Value>) -> Result<Vec<VarId>, ConvertError> {
        for (input, value) in graph.input.iter().zip(bound) {
            self.define(&input.name, value)?;
        }
        self.initializers(graph)?;
        self.nodes(graph)?;
        self.outputs(graph)
    }

    fn enter(&mut self, block: BlockId) {
        self.scopes.push(Scope::new(block, self.graphs));
        self.graphs += 1;
    }
}

/// The initialisers that are running statistics of one operator, which moves them. Exporters give equal initialisers one name, so
/// there are others.
fn statistics(graph: &GraphProto) -> BTreeSet<String> {
    let mut uses: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for node in &graph.node {
        for (at, name) in node.input.iter().enumerate() {
            let (count, is_statistic) = uses.entry(name).or_default();
            (*count, *is_statistic) = (*count + 1, rules::is_statistic(&node.op_type, at));
        }
    }
    let initial = graph.initializer.iter().filter_map(|tensor| tensor.name.clone());
    initial.filter(|name| uses.get(name.as_str()) == Some(&(1, true))).collect()
}
