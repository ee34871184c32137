//! `backward`: appends the gradient of the cost with respect to every parameter, over nested blocks.
//!
//! Reverse mode: operators are visited from last to first, each asks its gradient rule for the gradients of its inputs
//! and those of several uses are added. An operator that owns blocks gets gradient blocks for them.

use std::collections::{BTreeMap, BTreeSet};

use crate::ops::{Binary, BinaryKind, Fill, Gradient, GradientError, Number};
use crate::program::{BlockId, Program, Role, Site, VarId};

/// Appends the gradient of the first output, which has to be a floating-point scalar, and records (parameter,
/// gradient) pairs.
///
/// Errors: the cost is not a scalar or not differentiable, or a parameter has no differentiable path to it.
pub fn backward(program: &mut Program) -> Result<(), GradientError> {
    let parameters: Vec<VarId> = program.parameters().collect();
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
        return Err(GradientError { place: None, message });
    }
    program.set_role(cost, Role::Loss);
    let active = active(program, wanted);
    if !active.contains(&cost) {
        return Ok(vec![None; wanted.len()]);
    }
    let site = Site { role: Role::Backward, place: None };
    let seed = Fill { value: Number::Float(1.0), ty };
    let seed = program.append_op(Program::GLOBAL, seed, &[], site)?[0];
    let grads = differentiate(program, &active, Program::GLOBAL, Program::GLOBAL, &[(cost, seed)])?;
    Ok(wanted.iter().map(|var| grads.get(var).copied()).collect())
}

/// The floating-point values that some of `roots` influence.
fn active(program: &Program, roots: &[VarId]) -> BTreeSet<VarId> {
    let mut active: BTreeSet<VarId> = roots.iter().copied().collect();
    let is_float = |var: VarId| program.ty(var).dtype.is_float();
    // Loops feed values back, so until nothing changes.
    loop {
        let before = active.len();
        for operator in program.blocks().iter().flat_map(|block| &block.ops) {
            if operator.op.effects().blocks {
                for (from, to) in operator.op.operation().flow(program, operator) {
                    if active.contains(&from) && is_float(to) {
                        active.insert(to);
                    }
                }
            } else if operator.inputs.iter().any(|input| active.contains(input)) {
                active.extend(operator.outputs.iter().copied().filter(|&output| is_float(output)));
            }
        }
        if active.len() == before {
            return active;
        }
    }
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
    let mut grads = BTreeMap::new();
    let seed_site = Site { role: Role::Backward, place: None };
    for &(var, grad) in seeds {
        if active.contains(&var) {
            accumulate(program, into, &mut grads, var, grad, seed_site)?;
        }
    }
    for operator in program.block(forward).ops.clone().into_iter().rev() {
        let of_outputs: Vec<Option<VarId>> =
            operator.outputs.iter().map(|output| grads.get(output).copied()).collect();
        let reached = of_outputs.iter().any(Option::is_some);
        let influenced = operator.op.effects().blocks || operator.inputs.iter().any(|i| active.contains(i));
        if !reached || !influenced {
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
                accumulate(program, into, &mut grads, var, grad, site)?;
            }
        }
    }
    Ok(grads)
}

/// Adds to the gradient of `var`.
fn accumulate(
    program: &mut Program,
    into: BlockId,
    grads: &mut BTreeMap<VarId, VarId>,
    var: VarId,
    grad: VarId,
    site: Site,
) -> Result<(), GradientError> {
    let sum = match grads.get(&var) {
        Some(&first) => program.append_op(into, Binary { kind: BinaryKind::Add }, &[first, grad], site)?[0],
        None => grad,
    };
    // A gradient that is passed on unchanged keeps its first name.
    if program.var(sum).block == into && !program.var(sum).name.contains("@GRAD") {
        let name = format!("{}@GRAD", program.var(var).name);
        program.rename(sum, &name);
    }
    grads.insert(var, sum);
    Ok(())
}
