//! `accumulate`: cuts a training step into two programs. The first computes the gradients of one shard and adds them to
//! sums. The second updates the parameters from the sums.

use super::optimize::{add_up, is_sparse};
use super::scalar_input::create_scalar;
use crate::ops::{Fill, GradientError, If, ParameterUse, Program, Store};
use crate::program::{BuildError, DType, Role, Site, VarId};

/// The slot of the states that hold sums of gradients. Their values do not outlive a step.
pub const SUM_OF_GRADIENTS: &str = "SumOfGradients";

const SITE: Site = Site { role: Role::Optimize, place: None };

/// Appends, for each recorded gradient, an operator that adds it to a sum, which is a state of the parameter. A sparse
/// gradient adds only its rows, and the dense gradient is not computed.
///
/// Adds the input `is_first`, a truth value, behind the other inputs, and returns it. The sums begin at 0 if it is
/// true.
pub fn accumulate(program: &mut Program) -> Result<VarId, BuildError> {
    let is_first = create_scalar(program, "is_first", DType::Bool)?;
    let blocks = program.create_branches(Program::GLOBAL, is_first)?;
    let mut sums = Vec::new();
    for pair in program.gradients().to_vec() {
        let sum = create_sum(program, pair.parameter)?;
        let zeros = Fill::zeros(program.ty(sum).clone());
        let zeros = program.append_op(blocks[0], zeros, &[], SITE)?[0];
        program.append_op(blocks[0], Store, &[sum, zeros], SITE)?;
        sums.push((pair, sum));
    }
    program.append_block_op(Program::GLOBAL, If, &[is_first], &blocks, SITE)?;
    for (pair, sum) in sums {
        add_up(program, sum, pair.gradient, SITE)?;
        program.forget_gradient(pair.parameter);
    }
    Ok(is_first)
}

/// The program that [`optimize`](super::optimize::optimize) appends the updates to: it has the parameters that
/// `program` trains, and their sums as gradients, and nothing else.
pub fn from_sums(program: &Program) -> Result<Program, BuildError> {
    let mut updating = Program::new();
    updating.set_shards(program.shards());
    for pair in program.gradients() {
        let Some(initializer) = program.initializer(pair.parameter) else { continue };
        let name = &program.var(pair.parameter).name;
        let options = program.parameter_options(pair.parameter).clone();
        let wanted = ParameterUse { initializer: initializer.op.clone(), options, site: Site::default() };
        let parameter = updating.create_parameter(name, wanted)?;
        let sum = create_sum(&mut updating, parameter)?;
        updating.record_gradient(parameter, sum);
    }
    Ok(updating)
}

/// Errors if `update` leaves alone the rows that `compute` does not look up: the sums do not say which rows these are.
pub(super) fn refuse_lazy(compute: &Program, update: &Program) -> Result<(), GradientError> {
    for operator in &update.block(Program::GLOBAL).ops {
        let Some(changed) = operator.changed().next().filter(|_| operator.op.operation().is_lazy()) else {
            continue;
        };
        let name = &update.var(changed).name;
        let is_sparse = compute
            .gradients()
            .iter()
            .any(|pair| compute.var(pair.parameter).name == *name && is_sparse(compute, pair.gradient));
        if is_sparse {
            let message = format!(
                "`{}` updates only the rows of `{name}` that are looked up, but shards add up gradients of all of it; \
                 train without shards, or not lazily",
                operator.op.operation().called()
            );
            return Err(GradientError { place: None, message });
        }
    }
    Ok(())
}

fn create_sum(program: &mut Program, parameter: VarId) -> Result<VarId, BuildError> {
    let zeros = Fill::zeros(program.ty(parameter).clone());
    program.create_state(parameter, SUM_OF_GRADIENTS, zeros)
}
