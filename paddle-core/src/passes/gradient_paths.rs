//! Differentiable paths: which values have a derivative to the cost, and which operators end the paths of the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::ops::{GradientError, Operator, Program};
use crate::program::{Located, VarId};

/// The direction in which [`reach`] follows dependences.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// From the roots to the values that depend on them.
    Forward,
    /// From the roots to the values that they depend on.
    Back,
}

/// The kinds of dependence of one value on another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dependence {
    /// Differentiable.
    Smooth,
    /// Differentiable, except that the user stopped the gradient.
    Stopped,
    /// Any dependence that the user did not stop.
    Unstopped,
    /// Any dependence.
    Any,
}

/// Forward: the values that have a derivative with respect to one of `roots`. Back: the values with respect to which
/// one of `roots` has a derivative.
pub(super) fn reach(program: &Program, roots: &[VarId], way: Way) -> BTreeSet<VarId> {
    follow(program, roots, way, Dependence::Smooth)
}

fn follow(program: &Program, roots: &[VarId], way: Way, dependence: Dependence) -> BTreeSet<VarId> {
    let mut next: BTreeMap<VarId, Vec<VarId>> = BTreeMap::new();
    for operator in operators(program) {
        for (from, to) in dependences(program, operator, dependence) {
            let (from, to) = match way {
                Way::Forward => (from, to),
                Way::Back => (to, from),
            };
            let of_any_type = matches!(dependence, Dependence::Any | Dependence::Unstopped);
            if of_any_type || program.ty(to).dtype.is_float() {
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

/// The dependences by one operator, as pairs (from, to).
fn dependences(program: &Program, operator: &Operator, dependence: Dependence) -> Vec<(VarId, VarId)> {
    let operation = operator.op.operation();
    let effects = operator.op.effects();
    let owns_blocks = effects.blocks;
    let control = operation.control();
    let mut edges = control.map_or_else(Vec::new, |control| control.flow(program, operator));
    let inputs = operator.inputs.iter().copied().enumerate();
    for (k, from) in inputs {
        for (j, &to) in operator.outputs.iter().enumerate() {
            let is_smooth = || {
                !owns_blocks
                    && effects.differentiable
                    && operation.input(k).passes_gradient
                    && !operation.schema().output(j).is_intermediate
            };
            let depends = match dependence {
                Dependence::Smooth => is_smooth(),
                Dependence::Stopped => effects.stops_gradient || is_smooth(),
                Dependence::Unstopped => !effects.stops_gradient,
                Dependence::Any => true,
            };
            if depends {
                edges.push((from, to));
            }
        }
    }
    // The value that decides which block runs, or how often, influences all outputs.
    if let (Dependence::Any | Dependence::Unstopped, Some(from)) =
        (dependence, control.and_then(|control| control.decided_by(program, operator)))
    {
        edges.extend(operator.outputs.iter().map(|&to| (from, to)));
    }
    edges
}

/// The parameters that training is expected to change: no statistics, and none whose learning rate is 0.
fn to_be_trained(program: &Program) -> Vec<VarId> {
    let moves = |parameter: &VarId| {
        let options = program.parameter_options(*parameter);
        options.trainable && options.lr != Some(0.0)
    };
    program.parameters().filter(moves).collect()
}

/// The reason why a parameter that should be trained has no gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untrained {
    /// The user stopped all of its paths.
    LeftOut,
    /// No output depends on it.
    Unused,
    /// Outputs depend on it, but the cost does not.
    Elsewhere,
    /// The cost depends on it only by labels.
    Label,
    /// The cost depends on it, but each path has an operator without derivative.
    Ended,
}

/// The parameters that have gradients, and the reasons why others have none.
pub struct Paths<'p> {
    program: &'p Program,
    /// The values with respect to which the cost has a derivative.
    smooth: BTreeSet<VarId>,
    /// The parameters that should be trained and have gradients.
    pub trained: Vec<VarId>,
    /// The parameters that should be trained and have none, with the reason.
    pub untrained: Vec<(VarId, Untrained)>,
}

impl<'p> Paths<'p> {
    /// Follows the paths from the parameters that should be trained to the cost, the first output.
    ///
    /// Errors if the cost is not a floating-point scalar.
    pub fn of(program: &'p Program) -> Result<Self, GradientError> {
        let cost = cost(program)?;
        let smooth = reach(program, &[cost], Way::Back);
        let parameters = to_be_trained(program).into_iter();
        let (trained, others): (Vec<_>, Vec<_>) =
            parameters.partition(|parameter| smooth.contains(parameter));
        let mut paths = Paths { program, smooth, trained, untrained: Vec::new() };
        if !others.is_empty() {
            paths.untrained = paths.reasons_of(cost, others);
        }
        Ok(paths)
    }

    fn reasons_of(&self, cost: VarId, parameters: Vec<VarId>) -> Vec<(VarId, Untrained)> {
        let program = self.program;
        let back = |roots: &[VarId], dependence| follow(program, roots, Way::Back, dependence);
        let taps = program.taps().iter().map(|tap| tap.var);
        let outputs: Vec<VarId> = program.outputs().iter().copied().chain(taps).collect();
        let stops = operators(program).filter(|operator| operator.op.effects().stops_gradient);
        let stopped: Vec<VarId> = stops.flat_map(|operator| &operator.inputs).copied().collect();
        let but_for_stops = back(&[cost], Dependence::Stopped);
        let [of_cost, of_outputs] = [&[cost][..], &outputs].map(|roots| back(roots, Dependence::Any));
        let [unstopped_of_cost, unstopped] =
            [&[cost][..], &outputs].map(|roots| back(roots, Dependence::Unstopped));
        let into_stops = back(&stopped, Dependence::Any);
        let cause = |parameter: &VarId| {
            if but_for_stops.contains(parameter) {
                return Untrained::LeftOut;
            }
            if of_cost.contains(parameter) {
                return match unstopped_of_cost.contains(parameter) {
                    true if self.is_label(*parameter) => Untrained::Label,
                    true => Untrained::Ended,
                    false => Untrained::LeftOut,
                };
            }
            match (of_outputs.contains(parameter), unstopped.contains(parameter)) {
                (true, true) => Untrained::Elsewhere,
                (false, _) if !into_stops.contains(parameter) => Untrained::Unused,
                _ => Untrained::LeftOut,
            }
        };
        let cause = |parameter| (parameter, cause(&parameter));
        parameters.into_iter().map(cause).collect()
    }

    /// The operators at which a path from the parameter to the cost stops being differentiable, each with the position
    /// of the input concerned.
    fn path_ends(&self, parameter: VarId) -> Vec<(&'p Operator, usize)> {
        let influenced = follow(self.program, &[parameter], Way::Forward, Dependence::Unstopped);
        let mut ends = Vec::new();
        for operator in operators(self.program) {
            let edges = dependences(self.program, operator, Dependence::Unstopped);
            let end = edges.into_iter().find(|(from, to)| {
                influenced.contains(from) && self.smooth.contains(to) && !self.smooth.contains(from)
            });
            if let Some((from, _)) = end {
                let slot = operator.inputs.iter().position(|&input| input == from);
                ends.push((operator, slot.unwrap_or(operator.inputs.len())));
            }
        }
        ends
    }

    fn is_label(&self, parameter: VarId) -> bool {
        let is_label =
            |(operator, slot): (&Operator, usize)| operator.op.schema().input(slot).name == "Label";
        self.path_ends(parameter).into_iter().all(is_label)
    }

    /// The operator that ends the path from a parameter to the cost, and its place.
    pub fn ended_by(&self, parameter: VarId) -> Option<(&'p Operator, Option<Located>)> {
        let (mut last, _) = *self.path_ends(parameter).first()?;
        let influenced = follow(self.program, &[parameter], Way::Forward, Dependence::Unstopped);
        // If an influenced input is a truth value or an integer, the path already ended at the operator that computed
        // it from floating-point numbers. The search goes back to that one; it ends, because operators follow what they
        // read.
        while let Some(before) = discrete_input(self.program, last, &influenced) {
            last = before;
        }
        Some((last, place(self.program, last)))
    }

    /// Whether some value depends on both `one` and `other`.
    pub fn meet(&self, one: VarId, other: VarId) -> bool {
        let [one, other] =
            [one, other].map(|root| follow(self.program, &[root], Way::Forward, Dependence::Any));
        !one.is_disjoint(&other)
    }

    /// The error for an untrained parameter, with what to do about it.
    fn untrained_error(&self, parameter: VarId) -> GradientError {
        let name = &self.program.var(parameter).name;
        let Some((last, place)) = self.ended_by(parameter) else {
            let message = format!(
                "parameter `{name}` has no path to the cost, so it cannot be trained; use the layer in the cost, or \
                 leave it out; if it is to stay as it is, say so: `stop_gradient(..)`, `let _ = ..`, or `freeze` it"
            );
            return GradientError { place: None, message };
        };
        let is_label = (0..last.inputs.len()).any(|k| !last.op.operation().input(k).passes_gradient)
            && last.op.effects().differentiable;
        let why = if is_label { "passes no gradient to its labels" } else { "has no derivative" };
        let message = format!(
            "parameter `{name}` has no differentiable path to the cost, so it cannot be trained: `{}` {why}; run \
             the network with `infer`, or train it on a distance such as `mean(square(x - y))`; if it is to stay as it is, \
             say so: `stop_gradient(..)`, or `freeze` it",
            self.program.called(last)
        );
        GradientError { place, message }
    }
}

/// The values, among these, that no output depends on and that depend on parameters which no output depends on either.
pub fn of_unused_parameters(program: &Program, values: &[VarId]) -> Vec<VarId> {
    let taps = program.taps().iter().map(|tap| tap.var);
    let outputs: Vec<VarId> = program.outputs().iter().copied().chain(taps).collect();
    let used = follow(program, &outputs, Way::Back, Dependence::Any);
    let unused: Vec<VarId> =
        to_be_trained(program).into_iter().filter(|parameter| !used.contains(parameter)).collect();
    let influenced = follow(program, &unused, Way::Forward, Dependence::Any);
    values.iter().copied().filter(|value| influenced.contains(value) && !used.contains(value)).collect()
}

/// The parameters that training changes: those that should be trained, without those that the user left out.
///
/// Errors if the program cannot be trained, see [`check_trainable`].
pub fn trained(program: &Program) -> Result<Vec<VarId>, GradientError> {
    if to_be_trained(program).is_empty() {
        let message = "the network has no parameters to train; run it with `infer`";
        return Err(GradientError { place: None, message: message.into() });
    }
    let paths = Paths::of(program)?;
    let missing = |(_, why): &&(VarId, Untrained)| *why != Untrained::LeftOut;
    if let Some(&(parameter, _)) = paths.untrained.iter().find(missing) {
        return Err(paths.untrained_error(parameter));
    }
    if paths.trained.is_empty() {
        let message = "`stop_gradient` stops every path from a parameter to the cost, so there is nothing to train; run the \
                       network with `infer`";
        return Err(GradientError { place: None, message: message.into() });
    }
    Ok(paths.trained)
}

/// Checks that a program can be trained: its first output is a floating-point scalar, and has a derivative with respect
/// to every parameter that should be trained, unless the user stopped the gradient.
///
/// The error names the operator that ends the path, and its place.
pub fn check_trainable(program: &Program) -> Result<(), GradientError> {
    trained(program).map(drop)
}

/// The output to be differentiated: the first one.
pub fn cost(program: &Program) -> Result<VarId, GradientError> {
    let Some(&cost) = program.outputs().first() else {
        let message = "the network has no output to be the cost".to_string();
        return Err(GradientError { place: None, message });
    };
    let ty = program.ty(cost);
    if ty.is_scalar() && ty.dtype.is_float() {
        return Ok(cost);
    }
    let operator = program.writer(cost);
    let ends = |operator: &&Operator| !ty.dtype.is_float() || !operator.op.effects().differentiable;
    let hint = match operator.filter(ends) {
        Some(operator) => format!(
            "`{}` has no derivative: run the network with `infer`, or train it on a distance such as \
             `mean(square(x - y))`",
            program.called(operator)
        ),
        None => "reduce it with `mean` or `sum`".to_string(),
    };
    let (name, shown) = (&program.var(cost).name, program.show(ty));
    let message = format!("the cost `{name}` is {shown}, but training needs a floating-point scalar; {hint}");
    Err(GradientError { place: operator.and_then(|operator| place(program, operator)), message })
}

/// The operator that computes an influenced input of `operator`, if that input is a truth value or an integer.
fn discrete_input<'p>(
    program: &'p Program,
    operator: &Operator,
    influenced: &BTreeSet<VarId>,
) -> Option<&'p Operator> {
    let is_discrete = |input: &&VarId| influenced.contains(input) && !program.ty(**input).dtype.is_float();
    let input = operator.inputs.iter().find(is_discrete)?;
    program.writer(*input)
}

fn place(program: &Program, operator: &Operator) -> Option<Located> {
    operator.site.place.map(|place| program.locate(place))
}
