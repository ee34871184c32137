//! `paddle info`: what a model takes, gives and has.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use clap::Args;
use paddle::columns::bytes;
use paddle::core::ops::Program;
use paddle::core::program::DType;
use paddle::network::Variable;
use paddle::{Batch, Dynamic, Network, Parameters, Profile, profile};
use serde_json::{Value, json};

use crate::array::Array;
use crate::columns::Columns;
use crate::failure::{Failure, Verdict};
use crate::model::Model;

/// Shows what a model takes and gives, its parameters and its operators, and what a batch costs.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Info {
    #[command(flatten)]
    model: Model,
    /// Runs a batch of so many rows of zeros on the CPU, and shows the bytes and the operations of each group of operators
    /// that runs as one.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u32).range(1..))]
    batch: Option<u32>,
    /// With `--batch`: how long sequences are, and how large what the model leaves open.
    #[arg(long, value_name = "SIZE", default_value_t = 1, requires = "batch", value_parser = clap::value_parser!(u32).range(1..))]
    length: u32,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  paddle info resnet
  paddle info resnet --batch 8                    # what a batch of 8 rows costs
  paddle info lstm.pdmodel --batch 8 --length 40  # of sequences of 40 tokens
  paddle info resnet --json | jq .parameters.bytes
  paddle info resnet.pdparams                     # what paddle.save wrote

An operation is an addition or a multiplication of floating-point numbers: a multiply-add is two. Other operators count one for
each element that they compute.";

/// A parameter of a program.
struct Parameter {
    name: String,
    dtype: DType,
    dims: Vec<usize>,
}

impl Parameter {
    fn elements(&self) -> usize {
        self.dims.iter().product()
    }

    fn bytes(&self) -> usize {
        self.elements() * self.dtype.bytes()
    }
}

/// What launches of the same operators cost in one batch.
#[derive(Default)]
struct Cost {
    launches: u64,
    bytes: u64,
    operations: u64,
    seconds: f64,
}

impl Info {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict, Failure> {
        if let Some(saved) = self.model.saved_values() {
            return self.write_saved(out, saved);
        }
        let net = Network::<Dynamic>::from_program(self.model.program()?)?;
        let program = net.program()?;
        let (parameters, operators) = (parameters(program), operators(program));
        let costs = self.batch.map(|rows| self.costs(rows as usize)).transpose()?;
        if self.json {
            let value = self.json(&net, &parameters, &operators, costs.as_ref())?;
            let text = serde_json::to_string_pretty(&value).expect("names and numbers have a form in JSON");
            writeln!(out, "{text}")?;
            return Ok(Verdict::Fine);
        }
        writeln!(out, "program: {}", self.model.file()?.display())?;
        if let Some(values) = self.model.values()? {
            writeln!(out, "values of the parameters: {}", values.display())?;
        }
        let listed = |variables: &[Variable]| {
            let line = |variable: &Variable| vec![variable.name.clone(), variable.shown.clone()];
            Columns { lines: variables.iter().map(line).collect(), numbers: 0 }
        };
        writeln!(out, "\ninputs\n{}", listed(net.inputs()?))?;
        writeln!(out, "outputs\n{}", listed(&net.outputs()?))?;
        write_parameters(out, &parameters)?;
        writeln!(out)?;
        writeln!(out, "operators: {}", operators.values().sum::<usize>())?;
        let lines = operators.iter().map(|(name, count)| vec![count.to_string(), name.to_string()]);
        write!(out, "{}", Columns { lines: lines.collect(), numbers: 1 })?;
        if let (Some(rows), Some(costs)) = (self.batch, costs) {
            self.write_costs(out, rows, &costs)?;
        }
        Ok(Verdict::Fine)
    }

    /// What a file of `paddle.save` has: values without a program.
    fn write_saved(&self, out: &mut dyn Write, path: &Path) -> Result<Verdict, Failure> {
        let found = Parameters::of_saved(path)?;
        let parameters: Vec<Parameter> = found
            .iter()
            .map(|stored| Parameter {
                name: stored.name.clone(),
                dtype: stored.dtype,
                dims: stored.dims.clone(),
            })
            .collect();
        if self.json {
            let text = serde_json::to_string_pretty(&json!({
                "program": null,
                "values": path.display().to_string(),
                "parameters": parameters_as_json(&parameters),
            }));
            writeln!(out, "{}", text.expect("names and numbers have a form in JSON"))?;
            return Ok(Verdict::Fine);
        }
        writeln!(out, "values without a program: {}\n", path.display())?;
        write_parameters(out, &parameters)?;
        Ok(Verdict::Fine)
    }

    /// What a batch costs, by the operators that run as one.
    fn costs(&self, rows: usize) -> Result<BTreeMap<String, Cost>, Failure> {
        let (net, parameters) = self.model.load()?;
        let mut batch = Batch::new(&net)?;
        for input in net.inputs()? {
            self.zeros(&mut batch, input, rows)?;
        }
        // The first run plans the network and is not measured.
        let profile = profile::infer(&net, &parameters, [&batch; 4])?;
        Ok(of_launches(&profile))
    }

    /// Sets an input to zeros of a possible shape.
    fn zeros(&self, batch: &mut Batch<Dynamic>, input: &Variable, rows: usize) -> Result<(), Failure> {
        let length = self.length as usize;
        let offsets = |sequences: usize| (0..=sequences).map(|at| at * length).collect::<Vec<_>>();
        let levels = (0..input.levels).scan(rows, |sequences, _| {
            let level = offsets(*sequences);
            *sequences *= length;
            Some(level)
        });
        let levels: Vec<Vec<usize>> = levels.collect();
        let first = levels.last().map_or(rows, |offsets| offsets[offsets.len() - 1]);
        let dims = input.dims.iter().map(|dim| dim.unwrap_or(length));
        let shape: Vec<usize> = input.batched.then_some(first).into_iter().chain(dims).collect();
        Array::zeros(input.dtype, &shape).feed(batch, &input.name, &levels)
    }

    fn write_costs(
        &self,
        out: &mut dyn Write,
        rows: u32,
        costs: &BTreeMap<String, Cost>,
    ) -> Result<(), Failure> {
        let head = ["operations", "bytes", "time", "launches", "operators"].map(str::to_string);
        let mut all: Vec<_> = costs.iter().collect();
        all.sort_by_key(|(_, cost)| std::cmp::Reverse((cost.operations, cost.bytes)));
        let line = |name: &str, cost: &Cost| {
            vec![
                cost.operations.to_string(),
                bytes(cost.bytes as f64),
                format!("{:.1} µs", 1e6 * cost.seconds),
                cost.launches.to_string(),
                name.to_string(),
            ]
        };
        let mut lines = vec![head.to_vec()];
        lines.extend(all.iter().map(|(name, cost)| line(name, cost)));
        lines.push(line("all", &total(costs)));
        let plural = if rows == 1 { "" } else { "s" };
        write!(out, "\na batch of {rows} row{plural} on the CPU\n{}", Columns { lines, numbers: 4 })?;
        Ok(())
    }

    fn json(
        &self,
        net: &Network<Dynamic>,
        parameters: &[Parameter],
        operators: &BTreeMap<&str, usize>,
        costs: Option<&BTreeMap<String, Cost>>,
    ) -> Result<Value, Failure> {
        let mut value = json!({
            "program": self.model.file()?.display().to_string(),
            "values": self.model.values()?.map(|path| path.display().to_string()),
            "inputs": listed_as_json(net.inputs()?),
            "outputs": listed_as_json(&net.outputs()?),
            "parameters": parameters_as_json(parameters),
            "operators": operators,
        });
        if let Some(costs) = costs {
            let cost = |cost: &Cost| {
                json!({
                    "operations": cost.operations,
                    "bytes": cost.bytes,
                    "seconds": cost.seconds,
                    "launches": cost.launches,
                })
            };
            let groups: BTreeMap<&str, Value> =
                costs.iter().map(|(name, group)| (name.as_str(), cost(group))).collect();
            value["cost"] =
                json!({ "rows": self.batch, "device": "cpu", "all": cost(&total(costs)), "groups": groups });
        }
        Ok(value)
    }
}

fn parameters_as_json(parameters: &[Parameter]) -> Value {
    let (elements, size) = totals(parameters);
    let parameter = |parameter: &Parameter| {
        json!({
            "name": parameter.name,
            "dtype": parameter.dtype.name(),
            "dims": parameter.dims,
            "bytes": parameter.bytes(),
        })
    };
    let listed: Vec<Value> = parameters.iter().map(parameter).collect();
    json!({ "count": parameters.len(), "elements": elements, "bytes": size, "all": listed })
}

/// Writes how large parameters are together, and a line for each.
fn write_parameters(out: &mut dyn Write, parameters: &[Parameter]) -> Result<(), Failure> {
    let lines = parameters.iter().map(|parameter| {
        let ty = format!("{}{:?}", parameter.dtype, parameter.dims);
        vec![bytes(parameter.bytes() as f64), parameter.name.clone(), ty]
    });
    let (elements, size) = totals(parameters);
    writeln!(out, "parameters: {}, of {elements} elements in {}", parameters.len(), bytes(size as f64))?;
    write!(out, "{}", Columns { lines: lines.collect(), numbers: 1 })?;
    Ok(())
}

/// What inputs or outputs are, in JSON.
pub(crate) fn listed_as_json(variables: &[Variable]) -> Value {
    let one = |variable: &Variable| {
        json!({
            "name": variable.name,
            "dtype": variable.dtype.name(),
            "batched": variable.batched,
            "levels": variable.levels,
            "dims": variable.dims,
            "type": variable.shown,
        })
    };
    variables.iter().map(one).collect()
}

fn parameters(program: &Program) -> Vec<Parameter> {
    let parameter = |var| {
        let (name, ty) = (program.var(var).name.clone(), program.ty(var));
        // Sizes that are not known are those of programs without values.
        let dims = ty.dims.iter().map(|dim| dim.constant().and_then(|size| usize::try_from(size).ok()));
        Parameter { name, dtype: ty.dtype, dims: dims.map(Option::unwrap_or_default).collect() }
    };
    program.parameters().map(parameter).collect()
}

/// The elements and the bytes of all parameters.
fn totals(parameters: &[Parameter]) -> (usize, usize) {
    (parameters.iter().map(Parameter::elements).sum(), parameters.iter().map(Parameter::bytes).sum())
}

/// How many operators of each kind there are, those in nested blocks included.
fn operators(program: &Program) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for operator in program.blocks().iter().flat_map(|block| &block.ops) {
        *counts.entry(operator.op.name()).or_default() += 1;
    }
    counts
}

fn of_launches(profile: &Profile) -> BTreeMap<String, Cost> {
    let (mut costs, steps) = (BTreeMap::new(), profile.steps() as u64);
    for launch in profile.launches() {
        let cost: &mut Cost = costs.entry(launch.operators.join(" + ")).or_default();
        cost.launches += launch.calls / steps;
        cost.bytes += launch.bytes / steps;
        cost.operations += launch.flops / steps;
        cost.seconds += launch.time.as_secs_f64() / steps as f64;
    }
    costs
}

fn total(costs: &BTreeMap<String, Cost>) -> Cost {
    costs.values().fold(Cost::default(), |all, cost| Cost {
        launches: all.launches + cost.launches,
        bytes: all.bytes + cost.bytes,
        operations: all.operations + cost.operations,
        seconds: all.seconds + cost.seconds,
    })
}
