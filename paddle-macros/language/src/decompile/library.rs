//! Layers that are written in the language itself. A call of each is compiled, and what it becomes is looked for in the
//! program: the same operators between some values and parameters.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use paddle_core::ops::{Attribute, Op, Operator, Program};
use paddle_core::program::{BlockId, Definition, VarId};

use super::graph::Graph;
use super::statements::{Blocks, Made};
use super::tree::{Call, Expr};
use crate::Options;
use crate::compile::compile_here;

/// The name of the parameters in calls that are compiled.
const PATH: &str = "path";

/// A call that is looked for.
struct Sample {
    layer: &'static str,
    /// Named arguments, which choose what the layer consists of.
    named: Vec<&'static str>,
    /// By what the last dimension of the result is divided, if a size is an argument.
    size: Option<i64>,
    program: Program,
}

/// The flags that gated recurrent units, and long short-term memories, have.
const GRU: [&str; 2] = ["origin_mode", "reset_after"];
const LSTM: [&str; 1] = ["peepholes"];

/// All calls that are looked for, those of larger layers first.
fn samples() -> &'static [Sample] {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let mut samples = Vec::new();
        let sequence = "|x: Seq<Tensor<f32, 3>>|";
        for (unit, flags) in [("gru", &GRU[..]), ("lstm", &LSTM[..])] {
            let [both, one] = match unit {
                "gru" => ["bidirectional_gru", "gru"],
                _ => ["bidirectional_lstm", "lstm"],
            };
            for flags in subsets(flags) {
                samples.extend(sample(both, sequence, "x, 5", &flags, Some(2)));
                samples.extend(sample(
                    one,
                    sequence,
                    "x, 5",
                    &[&flags[..], &["is_reverse"]].concat(),
                    Some(1),
                ));
                samples.extend(sample(one, sequence, "x, 5", &flags, Some(1)));
            }
        }
        let row = "x: Tensor<f32, _, 3>, h: Tensor<f32, _, 5>";
        for flags in subsets(&GRU) {
            samples.extend(sample("gru_unit", &format!("|{row}|"), "x, h, 5", &flags, Some(1)));
        }
        for flags in subsets(&LSTM) {
            let inputs = format!("|{row}, c: Tensor<f32, _, 5>|");
            samples.extend(sample("lstm_unit", &inputs, "x, h, c, 5", &flags, Some(1)));
        }
        samples.extend(sample("log_softmax", "|x: Tensor<f32, _, 3>|", "x", &[], None));
        samples
    })
}

/// All ways to set some of these flags.
fn subsets(flags: &[&'static str]) -> Vec<Vec<&'static str>> {
    flags.iter().fold(vec![Vec::new()], |sets, flag| {
        let with = sets.iter().map(|set: &Vec<&'static str>| [&set[..], &[*flag]].concat());
        sets.iter().cloned().chain(with).collect()
    })
}

fn sample(
    layer: &'static str,
    inputs: &str,
    arguments: &str,
    flags: &[&'static str],
    size: Option<i64>,
) -> Option<Sample> {
    let param = size.map(|_| format!(", param = \"{PATH}\"")).unwrap_or_default();
    let named: String = flags.iter().map(|flag| format!(", {flag} = true")).collect();
    let source = format!("{inputs} {layer}({arguments}{named}{param})");
    let program = compile_here(&source, &Options::new()).ok()?.only().ok()?.program;
    Some(Sample { layer, named: flags.to_vec(), size, program })
}

/// The layer of the library whose last operator this is.
pub(super) fn find(blocks: &Blocks<'_>, block: BlockId, operator: &Operator) -> Option<Made> {
    static GRAPHS: OnceLock<Vec<Graph<'static>>> = OnceLock::new();
    let graphs = GRAPHS.get_or_init(|| samples().iter().map(|sample| Graph::new(&sample.program)).collect());
    samples().iter().zip(graphs).find_map(|(sample, graph)| sample.find(graph, blocks, block, operator))
}

impl Sample {
    fn find(
        &self,
        graph: &Graph<'_>,
        blocks: &Blocks<'_>,
        block: BlockId,
        operator: &Operator,
    ) -> Option<Made> {
        let root = self.program.outputs()[0];
        // Most operators are told apart by their names.
        let (.., last) = graph.writer(root)?;
        if last.op.name() != operator.op.name() || last.outputs.len() != operator.outputs.len() {
            return None;
        }
        let at = last.outputs.iter().position(|output| *output == graph.resolve(root))?;
        let mut found =
            Match { sample: graph, program: &blocks.graph, bound: BTreeMap::new(), parts: Vec::new() };
        if !found.fits(root, operator.outputs[at]) {
            return None;
        }
        let bound = |var: &VarId| found.bound.get(&graph.resolve(*var)).copied();
        let outputs: Vec<VarId> = self.program.outputs().iter().map(bound).collect::<Option<_>>()?;
        // Nothing else reads what is inside.
        let is_inside = |var: &VarId| self.program.var(*var).definition == Definition::Operator;
        let inside = found.bound.iter().filter(|(var, of)| is_inside(var) && !outputs.contains(of));
        if inside.into_iter().any(|(var, of)| graph.reads(*var) != blocks.graph.reads(*of)) {
            return None;
        }
        let mut positional: Vec<Expr> = Vec::new();
        for input in self.program.inputs() {
            positional.push(blocks.value(bound(input)?));
        }
        if let Some(parts) = self.size {
            let size = blocks.program().ty(outputs[0]).dims.last()?.constant()?;
            positional.push(Expr::word(size / parts));
        }
        let mut call = Call::of(self.layer, positional);
        call.named = self.named.iter().map(|flag| (*flag, Expr::word(true))).collect();
        for parameter in self.program.parameters() {
            let role = self.program.var(parameter).name.strip_prefix(PATH)?.strip_prefix('.')?;
            call.parameters.push((role.to_string(), bound(&parameter)?));
        }
        self.takes(blocks.program(), &call).then(|| {
            let parts = found.parts.iter().filter(|(of, _)| *of == block).map(|(_, at)| *at).collect();
            Made { value: call.into(), outputs, parts }
        })
    }

    /// Whether the parameters have the names and first values that the layer gives them.
    fn takes(&self, program: &Program, call: &Call) -> bool {
        let mut paths = Vec::new();
        for ((role, var), of_sample) in call.parameters.iter().zip(self.program.parameters()) {
            let Some(path) = program.var(*var).name.strip_suffix(role.as_str()) else { return false };
            paths.push(path);
            let (Some(one), Some(other)) = (program.parameter(*var), self.program.parameter(of_sample))
            else {
                return false;
            };
            let has_options = one.options.numbers().iter().any(|(_, number)| number.is_some());
            if has_options || one.chosen_initializer() != other.chosen_initializer() {
                return false;
            }
        }
        paths.iter().all(|path| path.ends_with('.') && *path == paths[0])
    }
}

/// What is found of a sample in a program.
struct Match<'a, 's, 'p> {
    sample: &'a Graph<'s>,
    program: &'a Graph<'p>,
    /// What each value of the sample is in the program.
    bound: BTreeMap<VarId, VarId>,
    /// The operators, with their blocks.
    parts: Vec<(BlockId, usize)>,
}

impl Match<'_, '_, '_> {
    /// Whether a value of the program is computed as one of the sample.
    fn fits(&mut self, of_sample: VarId, of_program: VarId) -> bool {
        let (var, is) = (self.sample.resolve(of_sample), self.program.resolve(of_program));
        if let Some(bound) = self.bound.get(&var) {
            return *bound == is;
        }
        match self.sample.program.var(var).definition {
            Definition::Input => {}
            Definition::Parameter if self.program.is_parameter(is) => {}
            Definition::Operator => return self.operators_fit(var, is),
            Definition::Parameter | Definition::State | Definition::BlockParameter => return false,
        }
        self.bound.insert(var, is);
        true
    }

    fn operators_fit(&mut self, var: VarId, is: VarId) -> bool {
        let (Some((.., one)), Some((block, at, other))) = (self.sample.writer(var), self.program.writer(is))
        else {
            return false;
        };
        let place = |operator: &Operator, var| operator.outputs.iter().position(|output| *output == var);
        let counts =
            |operator: &Operator| (operator.inputs.len(), operator.outputs.len(), operator.blocks.len());
        if place(one, var) != place(other, is)
            || counts(one) != counts(other)
            || !are_alike(&one.op, &other.op)
        {
            return false;
        }
        self.parts.push((block, at));
        self.bound.extend(one.outputs.iter().copied().zip(other.outputs.iter().copied()));
        if !one.inputs.iter().zip(&other.inputs).all(|(a, b)| self.fits(*a, *b)) {
            return false;
        }
        one.blocks.iter().zip(&other.blocks).all(|(a, b)| {
            let (a, b) = (self.sample.program.block(*a), self.program.program.block(*b));
            self.bound.extend(a.params.iter().copied().zip(b.params.iter().copied()));
            let same = a.params.len() == b.params.len() && a.results.len() == b.results.len();
            same && a.results.iter().zip(&b.results).all(|(a, b)| self.fits(*a, *b))
        })
    }
}

/// Whether two operators differ only in sizes and in rows.
fn are_alike(one: &Op, other: &Op) -> bool {
    let alike = |(a, b): (&(&str, Attribute), &(&str, Attribute))| match (&a.1, &b.1) {
        (Attribute::Dims(_), Attribute::Dims(_)) | (Attribute::Rows(_), Attribute::Rows(_)) => true,
        (Attribute::Type(a), Attribute::Type(b)) => a.dtype == b.dtype && a.dims.len() == b.dims.len(),
        (a, b) => a == b,
    };
    let [one_of, others] = [one, other].map(Op::attributes);
    one.name() == other.name() && one_of.len() == others.len() && one_of.iter().zip(&others).all(alike)
}
