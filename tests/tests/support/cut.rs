//! Programs of PaddlePaddle's for training, cut in two: what is computed, with gradients by our own rules, and the
//! updates.

use std::collections::{BTreeMap, BTreeSet};

use paddle::core::convert::{Fault, VariableFault, from_wire, is_known};
use paddle::core::ops::{Op, Program};
use paddle::core::passes::backward::gradients;
use paddle::core::plan::Backend;
use paddle::core::program::{Role, VarId};
use paddle::core::wire::{OpAttr, OpDesc, ProgramDesc};

use super::runner::Runner;
use super::tensor::Tensor;

/// Arrays by the names of their variables.
pub(crate) type Arrays = BTreeMap<String, Tensor>;

/// Why a program cannot be cut.
#[derive(Debug)]
pub(crate) enum Uncut {
    /// The operators that it needs and that are not here.
    Needs(BTreeSet<String>),
    /// What is wrong with it.
    Wrong(String),
}

/// A program, and what its outputs are called.
pub(crate) struct Part {
    pub(crate) program: Program,
    pub(crate) outputs: Vec<String>,
}

/// The two parts.
pub(crate) struct Cut {
    pub(crate) compute: Part,
    pub(crate) update: Part,
    /// Gradients that are zeros, as the cost does not depend on what they are of.
    pub(crate) zeros: BTreeSet<String>,
}

pub(crate) fn role(op: &OpDesc) -> Role {
    op.attr_int("op_role").expect("a number").map_or(Role::Forward, Role::from_wire)
}

fn written(op: &OpDesc) -> impl Iterator<Item = &String> {
    // What is in this slot is a shape, and no value.
    op.outputs.iter().filter(|slot| slot.parameter != "XShape").flat_map(|slot| &slot.arguments)
}

/// The program of the operators of some roles alone.
fn part(desc: &ProgramDesc, roles: &[Role]) -> ProgramDesc {
    let mut desc = desc.clone();
    desc.blocks[0].ops.retain(|op| roles.contains(&role(op)));
    desc
}

/// What a program writes.
fn all_written(desc: &ProgramDesc) -> BTreeSet<String> {
    desc.blocks[0].ops.iter().flat_map(written).cloned().collect()
}

/// What a program reads before it has written it, and that is no parameter.
fn read_first(desc: &ProgramDesc) -> BTreeSet<String> {
    let block = &desc.blocks[0];
    let kept =
        |name: &String| block.vars.iter().any(|var| var.name == *name && var.persistable == Some(true));
    let (mut known, mut first) = (BTreeSet::new(), BTreeSet::new());
    for op in &block.ops {
        let read = op.inputs.iter().flat_map(|slot| &slot.arguments);
        first.extend(read.filter(|name| !known.contains(name) && !kept(name)).cloned());
        known.extend(written(op));
    }
    first
}

/// The operators of a program that stayed foreign.
fn foreign(program: &Program) -> BTreeSet<String> {
    let ops = program.blocks().iter().flat_map(|block| &block.ops);
    let foreign = ops.filter_map(|operator| match &operator.op {
        Op::Foreign(foreign) => Some(foreign.name.clone()),
        _ => None,
    });
    foreign.collect()
}

/// The operators without a rule, in any block that the forward part and the updates own.
fn unknown(desc: &ProgramDesc) -> BTreeSet<String> {
    let ops = desc.blocks.iter().flat_map(|block| &block.ops).filter(|op| role(op) != Role::Backward);
    ops.filter(|op| !is_known(&op.r#type)).map(|op| op.r#type.clone()).collect()
}

/// Reads a program that is fed and fetches these variables.
fn read(mut desc: ProgramDesc, fed: &BTreeSet<String>, fetched: Vec<String>) -> Result<Part, Uncut> {
    let ops = &mut desc.blocks[0].ops;
    let column = |column: usize| OpAttr::int("col", column as i32);
    let feed =
        |(k, name): (usize, &String)| OpDesc::new("feed").with_output("Out", [name]).with_attr(column(k));
    let fetch =
        |(k, name): (usize, &String)| OpDesc::new("fetch").with_input("X", [name]).with_attr(column(k));
    ops.extend(fed.iter().enumerate().map(feed));
    ops.extend(fetched.iter().enumerate().map(fetch));
    let program = from_wire(&desc, None).map_err(|error| match error.fault {
        Fault::Variable { reason: VariableFault::Sequences, .. } => {
            Uncut::Needs(["sequences of sequences".to_string()].into())
        }
        _ => Uncut::Wrong(error.to_string()),
    })?;
    let missing = foreign(&program);
    if missing.is_empty() { Ok(Part { program, outputs: fetched }) } else { Err(Uncut::Needs(missing)) }
}

/// The forward part of a program that is fed `inputs`, of which `wanted` is fetched.
pub(crate) fn forward(
    desc: &ProgramDesc,
    inputs: &BTreeSet<String>,
    wanted: &BTreeSet<String>,
) -> Result<Part, Uncut> {
    let forward = part(desc, &[Role::Forward, Role::Loss]);
    let computed = all_written(&forward);
    read(forward, inputs, wanted.intersection(&computed).cloned().collect())
}

impl Cut {
    /// Cuts a program that is fed `inputs`, and computes and updates what is `wanted`.
    pub(crate) fn new(
        desc: &ProgramDesc,
        inputs: &BTreeSet<String>,
        wanted: &BTreeSet<String>,
    ) -> Result<Cut, Uncut> {
        let forward = part(desc, &[Role::Forward, Role::Loss]);
        let updates = part(desc, &[Role::Optimize]);
        let (computed, updated, needed) =
            (all_written(&forward), all_written(&updates), read_first(&updates));

        // The cost last.
        let wanted_of =
            |written: &BTreeSet<String>| wanted.intersection(written).cloned().collect::<Vec<_>>();
        let is_loss = |op: &&OpDesc| role(op) == Role::Loss;
        let cost = desc.blocks[0].ops.iter().find(is_loss).map(|op| op.outputs[0].arguments[0].clone());
        let mut fetched = wanted_of(&computed);
        fetched.extend(
            needed.iter().filter(|name| computed.contains(*name) && !wanted.contains(*name)).cloned(),
        );
        fetched.extend(cost.clone());
        let unknown = unknown(desc);
        let mut compute = match read(forward, inputs, fetched) {
            Err(Uncut::Needs(missing)) => return Err(Uncut::Needs(&missing | &unknown)),
            Err(_) if !unknown.is_empty() => return Err(Uncut::Needs(unknown)),
            read => read?,
        };
        let update = read(updates, &needed, wanted_of(&updated))?;
        if !unknown.is_empty() {
            return Err(Uncut::Needs(unknown));
        }
        let mut zeros = BTreeSet::new();
        if cost.is_some() {
            let roots = wanted.union(&needed).cloned().collect();
            zeros = compute.differentiate(roots).map_err(Uncut::Wrong)?;
        }
        Ok(Cut { compute, update, zeros })
    }
}

impl Part {
    /// Makes the last output the cost, and its gradients outputs, of these names; those that are zeros are returned.
    fn differentiate(&mut self, names: BTreeSet<String>) -> Result<BTreeSet<String>, String> {
        let program = &mut self.program;
        let mut outputs = program.outputs().to_vec();
        let cost = outputs.pop().expect("the cost was fetched");
        self.outputs.pop();
        program.set_outputs(&[cost]).map_err(|error| error.to_string())?;
        let of = |name: String| Some((program.find(name.strip_suffix("@GRAD")?)?, name));
        let (wanted, names): (Vec<VarId>, Vec<String>) = names.into_iter().filter_map(of).unzip();
        let found = gradients(program, &wanted).map_err(|error| error.to_string())?;
        let mut zeros = BTreeSet::new();
        for (name, gradient) in names.into_iter().zip(found) {
            match gradient {
                Some(gradient) => {
                    self.outputs.push(name);
                    outputs.push(gradient);
                }
                None => drop(zeros.insert(name)),
            }
        }
        program.set_outputs(&outputs).map_err(|error| error.to_string())?;
        Ok(zeros)
    }

    /// Whether it draws random numbers.
    pub(crate) fn is_random(&self) -> bool {
        let mut ops = self.program.blocks().iter().flat_map(|block| &block.ops);
        ops.any(|operator| operator.op.effects().random)
    }

    /// Its operators run on a batch: the outputs, and `parameters` afterwards.
    pub(crate) fn step<B: Backend + Clone>(
        &self,
        runner: &mut Runner<B>,
        parameters: &mut Arrays,
        inputs: &Arrays,
    ) -> Result<Arrays, String> {
        let program = &self.program;
        let input = |&var: &VarId| {
            let name = &program.var(var).name;
            inputs.get(name).cloned().ok_or_else(|| format!("`{name}` is fed, but has no value"))
        };
        let inputs = program.inputs().iter().map(input).collect::<Result<Vec<Tensor>, String>>()?;
        runner.set_known(parameters);
        let outputs = runner.step(&inputs);
        parameters.extend(runner.parameters());
        Ok(self.outputs.iter().cloned().zip(outputs).collect())
    }
}
