//! `backward`: appends the gradient of the cost with respect to every parameter, over nested blocks.
//!
//! Reverse mode: operators are visited from last to first, each asks its gradient rule for the gradients of its inputs
//! and those of several uses are added. An operator that owns blocks gets gradient blocks for them.

use std::collections::{BTreeMap, BTreeSet};

use crate::ops::{Binary, BinaryKind, Fill, Gradient, GradientError, Number};
use crate::program::{BlockId, Definition, Located, Program, Role, Site, VarId};

/// Appends the gradient of the first output, which has to be a floating-point scalar, and records (parameter,
/// gradient) pairs.
///
/// Errors: the cost is not a scalar or not differentiable, or there is no parameter, or one has no differentiable path to it.
pub fn backward(program: &mut Program) -> Result<(), GradientError> {
    if !program.gradients().is_empty() {
        return Err(GradientError { place: None, message: "the program has its gradients already".into() });
    }
    let parameters: Vec<VarId> = program.parameters().collect();
    if parameters.is_empty() {
        let message = "the network has no parameters, so there is nothing to train; run it with `infer`";
        return Err(GradientError { place: None, message: message.into() });
    }
    let grads = gradients(program, &parameters)?;
    for (&parameter, grad) in parameters.iter().zip(grads) {
        let Some(grad) = grad else {
            let name = &program.var(parameter).name;
            let message = format!(
                "parameter `{name}` has no differentiable path to the cost, so it cannot be trained; \
                 comparisons and integers end such paths"
            );
            return Err(GradientError { place: None, message });
        };
        let name = format!("{}@GRAD", program.var(parameter).name);
        // A part of the gradient, inside a block, may have the name.
        match program.find(&name) {
            Some(part) => program.swap_names(part, grad),
            None => program.rename(grad, &name),
        }
        program.record_gradient(parameter, grad);
    }
    Ok(())
}

/// Appends the gradient of the first output with respect to `wanted` (parameters or floating-point inputs), and
/// returns where it is; `None` where the cost does not depend on the value.
pub fn gradients(program: &mut Program, wanted: &[VarId]) -> Result<Vec<Option<VarId>>, GradientError> {
    let Some(&cost) = program.outputs().first() else {
        return Err(GradientError {
            place: None,
            message: "the network has no output to be the cost".into(),
        });
    };
    let ty = program.ty(cost).clone();
    if !ty.is_scalar() || !ty.dtype.is_float() {
        let message = format!(
            "the cost `{}` is {}, but training needs a floating-point scalar; reduce it with `mean` or `sum`",
            program.var(cost).name,
            program.show(&ty)
        );
        return Err(GradientError { place: place_of(program, cost), message });
    }
    let differentiable = |&var: &VarId| {
        let var = program.var(var);
        matches!(var.definition, Definition::Parameter | Definition::Input) && var.ty.dtype.is_float()
    };
    if let Some(&other) = wanted.iter().find(|var| !differentiable(var)) {
        let name = &program.var(other).name;
        let message = format!("`{name}` is neither a parameter nor a floating-point input");
        return Err(GradientError { place: None, message });
    }
    program.set_role(cost, Role::Loss);
    let (influenced, influencing) =
        (reach(program, wanted, Way::Forward), reach(program, &[cost], Way::Back));
    let active: BTreeSet<VarId> = influenced.intersection(&influencing).copied().collect();
    if active.is_empty() {
        return Ok(vec![None; wanted.len()]);
    }
    let site = Site { role: Role::Backward, place: None };
    let seed = Fill { value: Number::Float(1.0), ty };
    let seed = program.append_op(Program::GLOBAL, seed, &[], site)?[0];
    let grads = differentiate(program, &active, Program::GLOBAL, Program::GLOBAL, &[(cost, seed)])?;
    Ok(wanted.iter().map(|var| grads.get(var).copied()).collect())
}

/// Where the operator that writes an output comes from.
fn place_of(program: &Program, output: VarId) -> Option<Located> {
    let block = program.block(program.var(output).block);
    let operator = block.ops.iter().find(|operator| operator.outputs.contains(&output))?;
    operator.site.place.map(|place| program.locate(place))
}

/// The direction in which [`reach`] follows derivatives.
#[derive(Clone, Copy)]
enum Way {
    Forward,
    Back,
}

/// The values that have a derivative with respect to some of `roots`; backward, those with respect to which they have.
fn reach(program: &Program, roots: &[VarId], way: Way) -> BTreeSet<VarId> {
    let mut next: BTreeMap<VarId, Vec<VarId>> = BTreeMap::new();
    let mut edge = |from: VarId, to: VarId| {
        let (from, to) = match way {
            Way::Forward => (from, to),
            Way::Back => (to, from),
        };
        if program.ty(to).dtype.is_float() {
            next.entry(from).or_default().push(to);
        }
    };
    for operator in program.blocks().iter().flat_map(|block| &block.ops) {
        let operation = operator.op.operation();
        if operator.op.effects().blocks {
            operation.flow(program, operator).into_iter().for_each(|(from, to)| edge(from, to));
        } else if operation.is_differentiable() {
            for &input in &operator.inputs {
                operator.outputs.iter().for_each(|&output| edge(input, output));
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

/// Appends to `into` the gradient of the operators of `forward`, from gradients of its values, and returns the
/// gradients of everything that they read.
pub(crate) fn differentiate(
    program: &mut Program,
    active: &BTreeSet<VarId>,
    forward: BlockId,
    into: BlockId,
    seeds: &[(VarId, VarId)],
) -> Result<BTreeMap<VarId, VarId>, GradientError> {
    let mut sums = Sums { into, grads: BTreeMap::new(), named: BTreeSet::new() };
    for &(var, grad) in seeds {
        if active.contains(&var) {
            sums.add(program, var, grad, Site { role: Role::Backward, place: None })?;
        }
    }
    for operator in program.block(forward).ops.clone().into_iter().rev() {
        let of_outputs: Vec<Option<VarId>> =
            operator.outputs.iter().map(|output| sums.grads.get(output).copied()).collect();
        if of_outputs.iter().all(Option::is_none) {
            continue;
        }
        let site = Site { role: Role::Backward, place: operator.site.place };
        let mut rule = Gradient {
            program,
            active,
            block: into,
            operator: operator.clone(),
            grads: of_outputs,
            captured: Vec::new(),
        };
        let of_inputs = operator.op.operation().gradient(&mut rule)?;
        let captured = rule.captured;
        let of_inputs =
            operator.inputs.iter().copied().zip(of_inputs).filter_map(|(var, grad)| Some((var, grad?)));
        for (var, grad) in of_inputs.chain(captured) {
            if active.contains(&var) {
                sums.add(program, var, grad, site)?;
            }
        }
    }
    Ok(sums.grads)
}

/// The gradients that a block has so far.
struct Sums {
    into: BlockId,
    grads: BTreeMap<VarId, VarId>,
    /// A gradient that is passed on unchanged keeps its first name.
    named: BTreeSet<VarId>,
}

impl Sums {
    /// Adds to the gradient of `var`.
    fn add(
        &mut self,
        program: &mut Program,
        var: VarId,
        grad: VarId,
        site: Site,
    ) -> Result<(), GradientError> {
        let sum = match self.grads.get(&var) {
            Some(&first) => {
                program.append_op(self.into, Binary { kind: BinaryKind::Add }, &[first, grad], site)?[0]
            }
            None => grad,
        };
        if program.var(sum).block == self.into && self.named.insert(sum) {
            let name = format!("{}@GRAD", program.var(var).name);
            program.rename(sum, &name);
        }
        self.grads.insert(var, sum);
        Ok(())
    }
}
