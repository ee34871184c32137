//! `accumulate`: cuts a training step into two programs. The first computes the gradients of one shard and adds them up.
//! The second updates the parameters from the sums.

use std::collections::BTreeMap;

use super::optimize::{add_up, is_sparse};
use super::scalar_input::create_scalar;
use super::shard::tree::places;
use crate::ops::{Fill, GradientError, If, Number, ParameterUse, Program, Sgd, Store};
use crate::program::{BlockId, BuildError, DType, ParameterGradient, Role, Site, Type, VarId};

/// The slot of the states that hold sums of gradients. Their values do not outlive a step.
const SUM: &str = "SumOfGradients";

/// Whether the values of the states in a slot do not outlive a step.
pub fn is_of_one_step(slot: &str) -> bool {
    slot.starts_with(SUM)
}

pub(super) const SITE: Site = Site { role: Role::Optimize, place: None };

/// Adds to each dense gradient the sums of the shards before it, in the order of [`tree`](super::shard::tree), and keeps
/// the new sum. A sparse gradient adds its rows to a sum of all shards so far, in their order, and its dense form is not
/// computed.
///
/// The first new input is whether the shard is the first: sums of sparse gradients begin at 0. Behind it are, for each place
/// on the stack, whether its sum is added, and then, for each, whether the new sum is kept there. Returns the sums of the
/// dense gradients, which are those of the tree behind the last shard.
pub fn accumulate(program: &mut Program) -> Result<Vec<ParameterGradient>, BuildError> {
    let is_first = create_scalar(program, "is_first", DType::Bool)?;
    let places = places(program.shards());
    let mut conditions = |name: &str| -> Result<Vec<VarId>, BuildError> {
        (0..places).map(|place| create_scalar(program, &format!("{name}_{place}"), DType::Bool)).collect()
    };
    let (adds, keeps) = (conditions("adds")?, conditions("keeps")?);
    let pairs = program.gradients().to_vec();
    let (sparse, dense): (Vec<_>, Vec<_>) =
        pairs.into_iter().partition(|pair| is_sparse(program, pair.gradient));
    let sums = |program: &mut Program, pairs: &[ParameterGradient]| -> Result<Vec<_>, BuildError> {
        let sum = |&ParameterGradient { parameter, .. }: &ParameterGradient| {
            Ok(ParameterGradient { parameter, gradient: create_sum(program, parameter, SUM)? })
        };
        pairs.iter().map(sum).collect()
    };
    let (sparse_sums, dense_sums) = (sums(program, &sparse)?, sums(program, &dense)?);
    if !sparse.is_empty() {
        when(program, is_first, |program, block| {
            for pair in &sparse_sums {
                let zeros = Fill::zeros(program.ty(pair.gradient).clone());
                let zeros = program.append_op(block, zeros, &[], SITE)?[0];
                program.append_op(block, Store, &[pair.gradient, zeros], SITE)?;
            }
            Ok(())
        })?;
    }
    for (pair, sum) in sparse.iter().zip(&sparse_sums) {
        add_up(program, sum.gradient, pair.gradient, SITE)?;
    }
    for (pair, sum) in dense.iter().zip(&dense_sums) {
        program.append_op(Program::GLOBAL, Store, &[sum.gradient, pair.gradient], SITE)?;
    }
    // From the top of the stack to the bottom.
    for place in (0..places).rev() {
        when(program, adds[place], |program, block| {
            let mut factors = BTreeMap::new();
            for pair in &dense_sums {
                let waiting = create_sum(program, pair.parameter, &format!("{SUM}{place}"))?;
                let dtype = program.ty(waiting).dtype;
                let minus_one = match factors.get(&dtype) {
                    Some(&minus_one) => minus_one,
                    None => {
                        let minus_one = Fill { value: Number::Float(-1.0), ty: Type::scalar(dtype) };
                        let minus_one = program.append_op(block, minus_one, &[], SITE)?[0];
                        factors.insert(dtype, minus_one);
                        minus_one
                    }
                };
                program.append_op(block, Sgd {}, &[pair.gradient, waiting, minus_one], SITE)?;
            }
            Ok(())
        })?;
    }
    for (place, &keeps) in keeps.iter().enumerate() {
        when(program, keeps, |program, block| {
            for pair in &dense_sums {
                let waiting = create_sum(program, pair.parameter, &format!("{SUM}{place}"))?;
                program.append_op(block, Store, &[waiting, pair.gradient], SITE)?;
            }
            Ok(())
        })?;
    }
    for pair in dense.iter().chain(&sparse) {
        program.forget_gradient(pair.parameter);
    }
    Ok(dense_sums)
}

/// Appends what `fill` puts into a block that runs if a condition holds.
pub(super) fn when(
    program: &mut Program,
    condition: VarId,
    fill: impl FnOnce(&mut Program, BlockId) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let blocks = program.create_branches(Program::GLOBAL, condition)?;
    fill(program, blocks[0])?;
    program.append_block_op(Program::GLOBAL, If, &[condition], &blocks, SITE).map(drop)
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
        let sum = create_sum(&mut updating, parameter, SUM)?;
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

fn create_sum(program: &mut Program, parameter: VarId, slot: &str) -> Result<VarId, BuildError> {
    let zeros = Fill::zeros(program.ty(parameter).clone());
    program.create_state(parameter, slot, zeros)
}
