//! `paddle diff`: what two models differ in.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use paddle::core::ops::Program;
use paddle::core::program::{DType, Definition, VarId};
use paddle::network::Variable;
use paddle::{Dynamic, Element, Network, Parameters};
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use crate::colour;
use crate::columns::Columns;
use crate::failure::{Failure, Verdict};
use crate::model::Model;

/// Compares two models: inputs, outputs, parameters' types and operators. The names of values between operators, and how
/// parameters are initialised, make no difference.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Diff {
    /// The first model: a folder, a `.pdmodel` or a program as text.
    first: PathBuf,
    /// The second.
    second: PathBuf,
    /// Compares the values of parameters, too, and shows the largest difference of each.
    #[arg(long)]
    values: bool,
    /// With `--values`: the largest difference that makes none.
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, requires = "values")]
    tolerance: f64,
}

const EXAMPLES: &str = "\
Examples:
  paddle diff before.pdmodel after.pdmodel
  paddle diff monday tuesday --values --tolerance 1e-6

The exit code is 0 if they are equal, 1 if they differ, and 2 after an error.";

impl Diff {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict, Failure> {
        let models = [&self.first, &self.second].map(|path| Model::at(path));
        let [first, second] = [models[0].program()?, models[1].program()?];
        let [first, second] = [Sections::of(first)?, Sections::of(second)?];
        let mut verdict = Verdict::Fine;
        for (a, b) in first.0.iter().zip(&second.0) {
            if write_section(out, a, b)? {
                verdict = Verdict::Found;
            }
        }
        if self.values && self.write_values(out, &models[0].load()?.1, &models[1].load()?.1)? {
            verdict = Verdict::Found;
        }
        Ok(verdict)
    }

    /// Writes which values differ, of those that both models have. Returns whether there are any.
    fn write_values(&self, out: &mut dyn Write, a: &Parameters, b: &Parameters) -> Result<bool, Failure> {
        let types: BTreeMap<_, _> =
            b.iter().map(|stored| (&stored.name, (stored.dtype, &stored.dims))).collect();
        let mut lines = Vec::new();
        for stored in a.iter().filter(|stored| types.get(&stored.name) == Some(&(stored.dtype, &stored.dims)))
        {
            let name = &stored.name;
            let largest = match stored.dtype {
                DType::Bool => largest::<bool>(a, b, name, |element| f64::from(u8::from(element)))?,
                DType::I32 => largest::<i32>(a, b, name, f64::from)?,
                DType::I64 => largest::<i64>(a, b, name, |element| element as f64)?,
                DType::F32 => largest::<f32>(a, b, name, f64::from)?,
                DType::F64 => largest::<f64>(a, b, name, |element| element)?,
            };
            if let Some((difference, at, x, y)) =
                largest.filter(|(difference, ..)| *difference > self.tolerance)
            {
                let ty = format!("{}{:?}", stored.dtype, stored.dims);
                let what = format!("element {at}: {x} and {y}");
                lines.push(vec![format!("{difference:.3e}"), name.clone(), ty, what]);
            }
        }
        let differ = !lines.is_empty();
        if differ {
            writeln!(out, "values, with the largest difference of each parameter")?;
            write!(out, "{}", Columns { lines, numbers: 1 })?;
        }
        Ok(differ)
    }
}

/// The largest difference of two parameters, the index of the element, and its values. Two that are no number are equal, and one
/// differs infinitely from any number.
fn largest<T: Element>(
    a: &Parameters,
    b: &Parameters,
    name: &str,
    number: impl Fn(T) -> f64,
) -> Result<Option<(f64, usize, f64, f64)>, Failure> {
    let (a, b) = (a.get::<T>(name)?, b.get::<T>(name)?);
    let differences = a.iter().zip(&b).enumerate().map(|(at, (&x, &y))| {
        let (x, y) = (number(x), number(y));
        let difference = match x == y || (x.is_nan() && y.is_nan()) {
            true => 0.0,
            false if (x - y).is_nan() => f64::INFINITY,
            false => (x - y).abs(),
        };
        (difference, at, x, y)
    });
    Ok(differences.max_by(|a, b| a.0.total_cmp(&b.0)))
}

/// One part of a program.
struct Section {
    name: &'static str,
    /// What is compared, and shown.
    lines: Vec<String>,
    /// The lines without the numbers of values, by which those of both programs find each other.
    keys: Vec<String>,
}

struct Sections([Section; 4]);

impl Sections {
    fn of(program: Program) -> Result<Self, Failure> {
        let net = Network::<Dynamic>::from_program(program)?;
        let program = net.program()?;
        let parameter = |var| {
            let var = program.var(var);
            format!("{}: {}", var.name, program.show(&var.ty))
        };
        let mut parameters: Vec<String> = program.parameters().map(parameter).collect();
        parameters.sort();
        let plain = |name, lines: Vec<String>| Section { name, keys: lines.clone(), lines };
        let shown = |variables: &[Variable]| variables.iter().map(Variable::to_string).collect();
        let lines: Vec<String> = operators(numbered(program.clone()));
        let keys = lines.iter().map(|line| without_numbers(line)).collect();
        Ok(Sections([
            plain("inputs", shown(net.inputs()?)),
            plain("outputs", shown(&net.outputs()?)),
            plain("parameters", parameters),
            Section { name: "operators", lines, keys },
        ]))
    }
}

/// What stands in front of the numbers of values.
const VALUE: &str = "value.";

/// The program with numbers for names, except for inputs, parameters and states. They count in the order in which values
/// are defined.
fn numbered(mut program: Program) -> Program {
    let blocks = program.blocks().iter();
    let defined = blocks.flat_map(|block| {
        let params = block.params.iter().filter(|&&param| program.var(param).definition != Definition::Input);
        params.chain(block.ops.iter().flat_map(|operator| &operator.outputs))
    });
    let defined: Vec<VarId> = defined.copied().collect();
    for (number, var) in defined.into_iter().enumerate() {
        program.claim_name(var, &format!("{VALUE}{number}"));
    }
    program
}

/// The lines of a program's operators: all behind the head of its global block.
fn operators(program: Program) -> Vec<String> {
    let text = program.to_string();
    let lines = text.lines().skip_while(|line| !line.starts_with("  block 0")).skip(1);
    let lines: Vec<String> =
        lines.map(|line| line.strip_prefix("    ").unwrap_or(line).to_string()).collect();
    // The braces at the end are those of the block and of the program.
    lines[..lines.len().saturating_sub(2)].to_vec()
}

fn without_numbers(line: &str) -> String {
    let mut parts = line.split(VALUE);
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| text + VALUE + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// How many equal lines are shown around those that differ.
const AROUND: usize = 2;

/// Writes what two sections differ in. Returns whether they do.
fn write_section(out: &mut dyn Write, a: &Section, b: &Section) -> Result<bool, Failure> {
    if a.lines == b.lines {
        return Ok(false);
    }
    // If only numbers differ, they are what is to be seen.
    let is_wiring = a.keys == b.keys;
    let [x, y] = [a, b].map(|section| if is_wiring { &section.lines } else { &section.keys });
    let is_coloured = colour::is_shown();
    let mut write = |mark: char, line: &str| {
        let line = format!("{mark} {line}");
        writeln!(out, "{}", if is_coloured { colour::difference(&line) } else { line })
    };
    write('@', a.name)?;
    for (at, group) in group_diff_ops(capture_diff_slices(Algorithm::Myers, x, y), AROUND).iter().enumerate()
    {
        if at > 0 {
            write('@', "…")?;
        }
        for op in group {
            if let DiffOp::Equal { old_index, len, .. } = *op {
                a.lines[old_index..old_index + len].iter().try_for_each(|line| write(' ', line))?;
                continue;
            }
            a.lines[op.old_range()].iter().try_for_each(|line| write('-', line))?;
            b.lines[op.new_range()].iter().try_for_each(|line| write('+', line))?;
        }
    }
    Ok(true)
}
