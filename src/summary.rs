//! Summaries: tables of a model's layers and parameters, and of which network trains which parameter.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use paddle_core::ops::{Operator, Program};
use paddle_core::passes::backward::backward;
use paddle_core::passes::freeze::freeze;
use paddle_core::program::{BlockId, Definition, Dim, VarId};

use crate::Error;
use crate::columns::write_columns;
use crate::model::Model;
use crate::options::Options;
use crate::parameters::Networks;

/// The layers and the parameters of a network (`&net`), or of several (`(&a, &b)`), for printing.
///
/// For each network, the table lists the inputs and the calls of layers in order. A call has the type of its result,
/// the operators that it became, and the parameters that it uses; the calls of an unrolled loop share one line. Then
/// the table lists all parameters, and what a step of each network does to them: they are `trained`, `moved`
/// (statistics), or only `used` (no gradient, or a learning rate of 0); or the network does not have them.
/// [`summary_with`] also shows which are `frozen`.
///
/// ```
/// use paddle::{network, summary};
///
/// let net = network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
///     let price = fc(x, 1);
///     mean(square(price - y))
/// });
/// let table = summary(&net)?.to_string();
/// assert!(table.contains("matmul_v2 elementwise_add  price.w price.b"));
/// assert!(table.ends_with("14 elements in 2 parameters"));
/// # Ok::<(), paddle::Error>(())
/// ```
///
/// # Errors
/// Those of [`Network::program`](crate::Network::program).
pub fn summary<N: Networks>(networks: N) -> Result<Summary, Error> {
    let options = networks.models()?.iter().map(|_| Options::default()).collect::<Vec<_>>();
    of(networks, &options.iter().collect::<Vec<_>>())
}

/// The summary of networks that are trained with options, one for each network in order. Parameters that these freeze
/// are `frozen`.
///
/// ```
/// use paddle::attribute::network;
/// use paddle::{Options, summary_with};
///
/// #[network]
/// mod gan {
///     fn judge(x: Tensor<f32, _, 1>) -> _ {
///         fc(x, 1, param = "D")
///     }
///
///     pub fn d_cost(x: Tensor<f32, _, 1>) -> Tensor<f32> {
///         mean(softplus(-judge(x)))
///     }
///
///     pub fn g_cost(noise: Tensor<f32, _, 2>) -> Tensor<f32> {
///         mean(softplus(-judge(fc(noise, 1, param = "G"))))
///     }
/// }
///
/// # fn main() -> Result<(), paddle::Error> {
/// let (of_d, of_g) = (Options::default(), Options::default().freeze(gan::params::D));
/// let table = summary_with((&gan::d_cost(), &gan::g_cost()), [&of_d, &of_g])?.to_string();
/// let lines: Vec<_> = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
/// assert!(lines.contains(&vec!["D.b", "f32[1]", "1", "trained", "frozen"]));
/// assert!(lines.contains(&vec!["G.b", "f32[1]", "1", "-", "trained"]));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of [`Network::program`](crate::Network::program).
pub fn summary_with<N: Networks, const COUNT: usize>(
    networks: N,
    options: [&Options; COUNT],
) -> Result<Summary, Error> {
    let () = OneEach::<N, COUNT>::CHECK;
    of(networks, &options)
}

/// Makes rustc refuse a call whose number of options is not that of the networks.
struct OneEach<N, const COUNT: usize>(PhantomData<N>);

impl<N: Networks, const COUNT: usize> OneEach<N, COUNT> {
    const CHECK: () = assert!(N::COUNT == COUNT, "`summary_with` takes one `Options` for each network");
}

fn of(networks: impl Networks, options: &[&Options]) -> Result<Summary, Error> {
    let models = networks.models()?;
    let mut parameters = BTreeMap::new();
    for (at, (model, options)) in models.iter().zip(options).enumerate() {
        for (parameter, change) in changes(&model.program, options)? {
            let line = parameters
                .entry(model.program.var(parameter).name.clone())
                .or_insert_with(|| ParameterLine::new(&model.program, parameter, models.len()));
            line.changes[at] = change;
        }
    }
    Ok(Summary { networks: models.iter().map(|model| NetworkTable::new(model)).collect(), parameters })
}

/// The result of [`summary`]. `Display` prints the table.
///
/// ```
/// let net = paddle::network!(|x: Tensor<f32, _, 2>| { let line = fc(x, 1); line });
/// assert!(paddle::summary(&net)?.to_string().contains("line"));
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Summary {
    networks: Vec<NetworkTable>,
    /// The parameters by name.
    parameters: BTreeMap<String, ParameterLine>,
}

impl Summary {
    /// The number of elements of all parameters. A parameter that networks share counts once.
    pub fn elements(&self) -> usize {
        self.parameters.values().map(|line| line.elements).sum()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for network in &self.networks {
            writeln!(f, "{}", network.name)?;
            write_columns(f, &network.layers, 0)?;
            writeln!(f)?;
        }
        let names = self.networks.iter().map(|network| network.name.clone());
        let head = ["parameter", "type", "elements"].map(str::to_string).into_iter().chain(names).collect();
        let line = |(name, line): (&String, &ParameterLine)| {
            let columns = [name.clone(), line.ty.clone(), line.elements.to_string()];
            columns.into_iter().chain(line.changes.iter().map(|change| change.to_string())).collect()
        };
        let lines: Vec<Vec<String>> = std::iter::once(head).chain(self.parameters.iter().map(line)).collect();
        write_columns(f, &lines, 0)?;
        write!(f, "{} elements in {} parameters", self.elements(), self.parameters.len())
    }
}

/// The inputs and layers of one network.
#[derive(Clone, Debug)]
struct NetworkTable {
    name: String,
    /// For each layer: its value, the type of that, its operators, and its parameters.
    layers: Vec<Vec<String>>,
}

impl NetworkTable {
    fn new(model: &Model) -> Self {
        let program = &model.program;
        let of_input = |&input: &VarId| {
            vec![program.var(input).name.clone(), program.show(program.ty(input)), "input".to_string()]
        };
        let mut layers: Vec<_> = program.inputs().iter().map(of_input).collect();
        let inputs = program.blocks().iter().flat_map(|block| block.ops.iter().flat_map(|op| &op.inputs));
        let read = inputs.chain(program.blocks().iter().flat_map(|block| &block.results)).copied().collect();
        add_layers(program, &read, Program::GLOBAL, 0, &mut layers);
        NetworkTable { name: model.signature.network.clone(), layers }
    }
}

/// Adds the layers of a block, each followed by the layers of its nested blocks, which are indented.
///
/// A layer is the run of neighbouring operators with the same place in the source, which one call became. Constants are
/// not listed.
fn add_layers(
    program: &Program,
    read: &BTreeSet<VarId>,
    block: BlockId,
    depth: usize,
    layers: &mut Vec<Vec<String>>,
) {
    let ops = &program.block(block).ops;
    let of_one_call = |a: &Operator, b: &Operator| a.site.place.is_some() && a.site.place == b.site.place;
    for layer in ops.chunk_by(of_one_call) {
        let inputs = layer.iter().flat_map(|operator| &operator.inputs);
        let is_constant = |operator: &Operator| {
            operator.inputs.is_empty() && !operator.op.operation().schema().effects.random
        };
        if layer.iter().all(is_constant) {
            continue;
        }
        let outputs = || layer.iter().rev().flat_map(|operator| &operator.outputs);
        let value = outputs().find(|value| read.contains(value)).or(outputs().next());
        let Some(&value) = value else { continue };
        let names: Vec<_> = layer.iter().map(|operator| operator.op.name()).collect();
        let is_parameter = |value: &&VarId| program.var(**value).definition == Definition::Parameter;
        let parameters: Vec<_> =
            inputs.filter(is_parameter).map(|&value| program.var(value).name.as_str()).collect();
        layers.push(vec![
            format!("{:indent$}{}", "", program.var(value).name, indent = 2 * depth),
            program.show(program.ty(value)),
            names.join(" "),
            parameters.join(" "),
        ]);
        for &inner in layer.iter().flat_map(|operator| &operator.blocks) {
            add_layers(program, read, inner, depth + 1, layers);
        }
    }
}

/// A parameter, and what a step of each network does to it.
#[derive(Clone, Debug)]
struct ParameterLine {
    ty: String,
    elements: usize,
    changes: Vec<Change>,
}

impl ParameterLine {
    fn new(program: &Program, parameter: VarId, networks: usize) -> Self {
        let ty = program.ty(parameter);
        let size = |dim: &Dim| dim.constant().and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
        ParameterLine {
            ty: program.show(ty),
            elements: program.shape(ty).iter().map(size).product(),
            changes: vec![Change::Absent; networks],
        }
    }
}

/// The effect of a network's step on a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// The network does not have the parameter.
    Absent,
    Used,
    /// The options freeze it.
    Frozen,
    /// An operator changes it, as statistics are changed.
    Moved,
    /// It has a gradient.
    Trained,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Change::Absent => "-",
            Change::Used => "used",
            Change::Frozen => "frozen",
            Change::Moved => "moved",
            Change::Trained => "trained",
        })
    }
}

/// The parameters of a program, each with the effect of a step with these options.
///
/// Errors if the options freeze a parameter that cannot be frozen.
fn changes(program: &Program, options: &Options) -> Result<Vec<(VarId, Change)>, Error> {
    let mut training = program.clone();
    options.frozen.check(program)?;
    let is_frozen = |name: &str| options.frozen.contains(name);
    freeze(&mut training, &is_frozen)?;
    let can_be_trained = backward(&mut training).is_ok();
    let trained = |parameter: VarId| training.gradients().iter().any(|pair| pair.parameter == parameter);
    let operators = || program.blocks().iter().flat_map(|block| &block.ops);
    let moved = |parameter: VarId| {
        let moves = |operator: &Operator| operator.changed().any(|changed| changed == parameter);
        operators().any(moves)
    };
    let change = |parameter| match can_be_trained {
        _ if is_frozen(&program.var(parameter).name) => Change::Frozen,
        true if trained(parameter) => Change::Trained,
        true if moved(parameter) => Change::Moved,
        _ => Change::Used,
    };
    Ok(program.parameters().map(|parameter| (parameter, change(parameter))).collect())
}
