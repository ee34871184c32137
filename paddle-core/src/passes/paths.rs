//! Paths from values to the cost: which have derivatives, and what ends those that have none.

use std::collections::{BTreeMap, BTreeSet};

use crate::ops::GradientError;
use crate::program::{Located, Operator, Program, VarId};

/// The direction in which [`reach`] follows derivatives.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// To what depends on the roots.
    Forward,
    /// To what the roots depend on.
    Back,
}

/// How a value depends on another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dependence {
    /// With a derivative.
    Smooth,
    /// In any way.
    Any,
}

/// The values that have a derivative with respect to some of `roots`; backward, those with respect to which they have.
pub(super) fn reach(program: &Program, roots: &[VarId], way: Way) -> BTreeSet<VarId> {
    follow(program, roots, way, Dependence::Smooth)
}

fn follow(program: &Program, roots: &[VarId], way: Way, dependence: Dependence) -> BTreeSet<VarId> {
    let mut next: BTreeMap<VarId, Vec<VarId>> = BTreeMap::new();
    for operator in operators(program) {
        for (from, to) in edges(program, operator, dependence) {
            let (from, to) = match way {
                Way::Forward => (from, to),
                Way::Back => (to, from),
            };
            if dependence == Dependence::Any || program.ty(to).dtype.is_float() {
                next.entry(from).or_default().push(to);
            }
        }
    }
    let mut reached: BTreeSet<VarId> = roots.iter().copied().collect();
    let mut pending = roots.to_vec();
    while let Some(var) = pending.pop() {
        for &to in next.get(&var).into_iter().flatten() {
            if reached.insert(to) {
                pending.push(to);
            }
        }
    }
    reached
}

fn operators(program: &Program) -> impl Iterator<Item = &Operator> {
    program.blocks().iter().flat_map(|block| &block.ops)
}

/// Which values depend on which by one operator: pairs of (from, to).
fn edges(program: &Program, operator: &Operator, dependence: Dependence) -> Vec<(VarId, VarId)> {
    let operation = operator.op.operation();
    let owns_blocks = operator.op.effects().blocks;
    let mut edges = match owns_blocks {
        true => operation.flow(program, operator),
        false => Vec::new(),
    };
    let smooth = |holds: bool| {
        dependence == Dependence::Any || (!owns_blocks && operation.is_differentiable() && holds)
    };
    for (k, &from) in operator.inputs.iter().enumerate() {
        for (j, &to) in operator.outputs.iter().enumerate() {
            if smooth(operation.passes_gradient(k) && !operation.is_intermediate(j)) {
                edges.push((from, to));
            }
        }
    }
    edges
}

/// The parameters that have gradients: no statistics, and none whose learning rate is 0.
pub(super) fn trained(program: &Program) -> Vec<VarId> {
    let moves = |parameter: &VarId| {
        let options = program.parameter_options(*parameter);
        options.trainable && options.lr != Some(0.0)
    };
    program.parameters().filter(moves).collect()
}

/// Checks that a program can be trained: its first output is a floating-point scalar, and has a derivative with
/// respect to every parameter that is to be trained.
///
/// The error names the operator that ends the path, with its place.
pub fn check_trainable(program: &Program) -> Result<(), GradientError> {
    let parameters = trained(program);
    if parameters.is_empty() {
        let message = "the network has no parameters to train; run it with `infer`";
        return Err(GradientError { place: None, message: message.into() });
    }
    let cost = cost(program)?;
    let smooth = reach(program, &[cost], Way::Back);
    match parameters.into_iter().find(|parameter| !smooth.contains(parameter)) {
        Some(parameter) => Err(no_path(program, parameter, &smooth)),
        None => Ok(()),
    }
}

/// The output that is to be differentiated.
pub(super) fn cost(program: &Program) -> Result<VarId, GradientError> {
    let Some(&cost) = program.outputs().first() else {
        let message = "the network has no output to be the cost".to_string();
        return Err(GradientError { place: None, message });
    };
    let ty = program.ty(cost);
    if ty.is_scalar() && ty.dtype.is_float() {
        return Ok(cost);
    }
    let operator = writer(program, cost);
    let ends = |operator: &&Operator| !ty.dtype.is_float() || !operator.op.operation().is_differentiable();
    let hint = match operator.filter(ends) {
        Some(operator) => format!(
            "`{}` has no derivative: run the network with `infer`, or train it on a distance such as \
             `mean(square(x - y))`",
            operator.op.operation().called()
        ),
        None => "reduce it with `mean` or `sum`".to_string(),
    };
    let (name, shown) = (&program.var(cost).name, program.show(ty));
    let message = format!("the cost `{name}` is {shown}, but training needs a floating-point scalar; {hint}");
    Err(GradientError { place: operator.and_then(|operator| place(program, operator)), message })
}

/// Why a parameter has no gradient. `smooth` is what the cost has a derivative with respect to.
fn no_path(program: &Program, parameter: VarId, smooth: &BTreeSet<VarId>) -> GradientError {
    let name = &program.var(parameter).name;
    let influenced = follow(program, &[parameter], Way::Forward, Dependence::Any);
    let ends = |operator: &&Operator| {
        edges(program, operator, Dependence::Any)
            .into_iter()
            .any(|(from, to)| influenced.contains(&from) && smooth.contains(&to) && !smooth.contains(&from))
    };
    let Some(mut last) = operators(program).find(ends) else {
        let message = format!(
            "parameter `{name}` has no path to the cost, so it cannot be trained; use the layer in the cost, or \
             leave it out"
        );
        return GradientError { place: None, message };
    };
    // Where a truth value or an integer arrives, the operator that made it of numbers has ended the path. Operators
    // stand behind what they read, so this goes on until there is one.
    while let Some(before) = discrete_input(program, last, &influenced) {
        last = before;
    }
    let is_label = (0..last.inputs.len()).any(|k| !last.op.operation().passes_gradient(k));
    let why = if is_label { "passes no gradient to its labels" } else { "has no derivative" };
    let message = format!(
        "parameter `{name}` has no differentiable path to the cost, so it cannot be trained: `{}` {why}; run \
         the network with `infer`, or train it on a distance such as `mean(square(x - y))`",
        last.op.operation().called()
    );
    GradientError { place: place(program, last), message }
}

/// The operator of the program that computes an influenced input that has no derivatives.
fn discrete_input<'p>(
    program: &'p Program,
    operator: &Operator,
    influenced: &BTreeSet<VarId>,
) -> Option<&'p Operator> {
    let is_discrete = |input: &&VarId| influenced.contains(input) && !program.ty(**input).dtype.is_float();
    let input = operator.inputs.iter().find(is_discrete)?;
    writer(program, *input)
}

/// The operator that writes a value.
fn writer(program: &Program, var: VarId) -> Option<&Operator> {
    let block = program.block(program.var(var).block);
    block.ops.iter().find(|operator| operator.outputs.contains(&var))
}

fn place(program: &Program, operator: &Operator) -> Option<Located> {
    operator.site.place.map(|place| program.locate(place))
}
