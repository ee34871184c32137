//! `backward`: appends the gradient of the cost with respect to the parameters, over nested blocks.
//!
//! Reverse mode. It visits the operators from the last to the first. The gradient rule of each operator gives the
//! gradients of its inputs; the gradients of several uses of a value are added. An operator that owns blocks gets
//! gradient blocks for them.

use std::collections::{BTreeMap, BTreeSet};

use super::gradient_paths::{Way, cost, reach, trained};
use crate::ops::{Binary, BinaryKind, Fill, Gradient, GradientError, Number, Program};
use crate::program::{BlockId, Definition, Role, Site, VarId};

/// Appends the gradient of the first output with respect to every trained parameter, and records the (parameter,
/// gradient) pairs. A parameter that the user left out by `stop_gradient` gets none.
///
/// Errors if the program cannot be trained, see [`check_trainable`](super::check_trainable), or already has gradients.
pub fn backward(program: &mut Program) -> Result<(), GradientError> {
    if !program.gradients().is_empty() {
        return Err(GradientError { place: None, message: "the program has its gradients already".into() });
    }
    let parameters = trained(program)?;
    let grads = gradients(program, &parameters)?;
    for (&parameter, grad) in parameters.iter().zip(grads) {
        let Some(grad) = grad else {
            let message = format!("parameter `{}` has no gradient", program.var(parameter).name);
            return Err(GradientError { place: None, message });
        };
        let name = format!("{}@GRAD", program.var(parameter).name);
        // A partial gradient inside a block may already have the name.
        match program.find(&name) {
            Some(part) => program.swap_names(part, grad),
            None => program.rename(grad, &name),
        }
        program.record_gradient(parameter, grad);
    }
    Ok(())
}

/// Appends the gradient of the first output with respect to `wanted` (parameters or floating-point inputs), and returns
/// the gradients in the same order; `None` for a value that the cost does not depend on.
pub fn gradients(program: &mut Program, wanted: &[VarId]) -> Result<Vec<Option<VarId>>, GradientError> {
    let cost = cost(program)?;
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
    let seed = Fill { value: Number::Float(1.0), ty: program.ty(cost).clone() };
    let seed = program.append_op(Program::GLOBAL, seed, &[], site)?[0];
    let grads = differentiate(program, &active, Program::GLOBAL, Program::GLOBAL, &[(cost, seed)])?;
    Ok(wanted.iter().map(|var| grads.get(var).copied()).collect())
}

/// Appends to `into` the gradient of the operators of `forward`, given the gradients of some of its values. Returns the
/// gradients of all values that these operators read.
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
            differentiate,
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

/// The gradients that have been found so far in a block.
struct Sums {
    into: BlockId,
    grads: BTreeMap<VarId, VarId>,
    /// The values that have such a name. A gradient that is passed on unchanged keeps its first name.
    named: BTreeSet<VarId>,
}

impl Sums {
    /// Adds a gradient to the sum for `var`.
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
