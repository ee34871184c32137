//! `accumulate`: cuts a training step into two programs. The first computes the gradients of one shard and adds them up.
//! The second updates the parameters from the sums.

use std::collections::BTreeMap;
use std::ops::Range;

use super::optimize::LookedUp;
use super::scalar_input::create_scalar;
use super::shard::tree::places;
use crate::ops::{
    Fill, If, LookupTable, LookupTableGrad, Number, Op, Operator, ParameterUse, Program, SendRows, Sgd, Store,
};
use crate::program::{BlockId, BuildError, DType, ParameterGradient, Role, Site, Type, VarId};

/// The slot of the states that hold sums of gradients. Their values do not outlive a step.
const SUM: &str = "SumOfGradients";

/// Whether the values of the states in a slot do not outlive a step.
pub fn is_of_one_step(slot: &str) -> bool {
    slot.starts_with(SUM)
}

pub(super) const SITE: Site = Site { role: Role::Optimize, place: None };

/// The inputs that say how a shard joins the sums, for each place on the stack: whether its sum is added, and whether the new
/// sum is kept there.
pub(super) struct Joins {
    adds: Vec<VarId>,
    keeps: Vec<VarId>,
}

impl Joins {
    /// Adds the inputs to a program: all of the first kind, then all of the second.
    pub(super) fn create(program: &mut Program) -> Result<Self, BuildError> {
        let places = places(program.shards());
        let mut conditions = |name: &str| -> Result<Vec<VarId>, BuildError> {
            (0..places).map(|place| create_scalar(program, &format!("{name}_{place}"), DType::Bool)).collect()
        };
        Ok(Joins { adds: conditions("adds")?, keeps: conditions("keeps")? })
    }
}

/// Adds to dense gradients the sums of the shards before it, in the order of [`tree`](super::shard::tree), and keeps
/// the new sums. Returns the sums, which are those of the tree behind the last shard. Sparse gradients are
/// [sent](send_rows).
pub(super) fn accumulate(
    program: &mut Program,
    Joins { adds, keeps }: &Joins,
    gradients: &[ParameterGradient],
) -> Result<Vec<ParameterGradient>, BuildError> {
    let mut sums = Vec::new();
    for &ParameterGradient { parameter, .. } in gradients {
        sums.push(ParameterGradient { parameter, gradient: create_sum(program, parameter, SUM)? });
    }
    for (pair, sum) in gradients.iter().zip(&sums) {
        program.append_op(Program::GLOBAL, Store, &[sum.gradient, pair.gradient], SITE)?;
    }
    // From the top of the stack to the bottom.
    for (place, &adds) in adds.iter().enumerate().rev() {
        when(program, adds, |program, block| {
            let mut factors = BTreeMap::new();
            for pair in &sums {
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
            for pair in &sums {
                let waiting = create_sum(program, pair.parameter, &format!("{SUM}{place}"))?;
                program.append_op(block, Store, &[waiting, pair.gradient], SITE)?;
            }
            Ok(())
        })?;
    }
    for pair in gradients {
        program.forget_gradient(pair.parameter);
    }
    Ok(sums)
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

/// A run of rows of a parameter, and who updates it.
pub(super) struct Home {
    pub(super) piece: String,
    pub(super) server: u32,
    pub(super) rows: Range<usize>,
}

/// Appends what sends the rows of sparse gradients, each to the homes of its parameter. Their dense form is not computed then.
/// Whoever takes the rows adds up those of all shards, in the order of the tree.
pub(super) fn send_rows(program: &mut Program, homes: &dyn Fn(&str) -> Vec<Home>) -> Result<(), BuildError> {
    for pair in program.gradients().to_vec() {
        let Some(LookedUp { lookups, padding_idx }) = LookedUp::of(program, pair.gradient) else { continue };
        let inputs: Vec<VarId> = lookups.into_iter().flatten().collect();
        for Home { piece, server, rows } in homes(&program.var(pair.parameter).name) {
            let [begin, end] = [rows.start as i64, rows.end as i64];
            let op = SendRows { piece, to: server.into(), begin, end, padding_idx };
            program.append_op(Program::GLOBAL, op, &inputs, SITE)?;
        }
        program.forget_gradient(pair.parameter);
    }
    Ok(())
}

/// Sends the rows of sparse gradients to one home for all of each parameter.
pub(super) fn send_rows_home(program: &mut Program) -> Result<(), BuildError> {
    let rows: BTreeMap<String, usize> = program
        .parameters()
        .map(|parameter| {
            let rows = program.ty(parameter).dims.first().and_then(|rows| rows.constant());
            (program.var(parameter).name.clone(), rows.map_or(usize::MAX >> 1, |rows| rows as usize))
        })
        .collect();
    send_rows(program, &|parameter| {
        let rows = 0..rows.get(parameter).copied().unwrap_or(0);
        vec![Home { piece: parameter.to_string(), server: 0, rows }]
    })
}

/// Adds a sparse gradient of a parameter to a program that updates it: inputs for the numbers of rows, each once, and for their
/// elements. Returns the gradient of the whole parameter, whose sparse form they are. How many rows there are is known
/// when they are fed.
pub(super) fn take_rows(program: &mut Program, parameter: VarId, site: Site) -> Result<VarId, BuildError> {
    let name = program.var(parameter).name.clone();
    let Type { dtype, dims, .. } = program.ty(parameter).clone();
    let rows = Some(program.create_rows(&format!("{name}.rows")));
    let ids =
        program.create_input(&format!("{name}@IDS"), Type { dtype: DType::I64, rows, dims: Vec::new() })?;
    let dims = dims.into_iter().skip(1).collect();
    let elements = program.create_input(&format!("{name}@ROWS"), Type { dtype, rows, dims })?;
    let op = LookupTableGrad(LookupTable { padding_idx: -1 });
    Ok(program.append_op(Program::GLOBAL, op, &[ids, parameter, elements], site)?[0])
}

/// The parameters of which a program of updates is fed rows of sparse gradients. In their order, its first inputs are
/// two for each: the numbers of rows, ascending and each once, and their elements. Learning rates follow.
pub fn fed_by_rows(update: &Program) -> Vec<String> {
    let fed = |inputs: &[VarId]| {
        let is_fed = |operator: &&Operator| {
            matches!(operator.op, Op::LookupTableGrad(_))
                && operator.inputs.first() == inputs.first()
                && operator.inputs.last() == inputs.last()
        };
        let operator = update.block(Program::GLOBAL).ops.iter().find(is_fed)?;
        Some(update.var(operator.inputs[1]).name.clone())
    };
    update.inputs().chunks_exact(2).map_while(fed).collect()
}

/// Whether the gradient of a parameter has a sparse form in a program.
pub(super) fn is_sparse(program: &Program, pair: &ParameterGradient) -> bool {
    LookedUp::of(program, pair.gradient).is_some()
}

/// The program that [`optimize`](super::optimize::optimize) appends the updates to: it has the parameters that
/// `program` trains, as gradients their sums or the rows that are [fed](fed_by_rows), and nothing else.
pub(super) fn from_sums(program: &Program) -> Result<Program, BuildError> {
    let mut updating = Program::new();
    updating.set_shards(program.shards());
    for pair in program.gradients() {
        let Some(initializer) = program.initializer(pair.parameter) else { continue };
        let name = &program.var(pair.parameter).name;
        let options = program.parameter_options(pair.parameter).clone();
        let wanted = ParameterUse { initializer: initializer.op.clone(), options, site: Site::default() };
        let parameter = updating.create_parameter(name, wanted)?;
        let gradient = match is_sparse(program, pair) {
            true => take_rows(&mut updating, parameter, SITE)?,
            false => create_sum(&mut updating, parameter, SUM)?,
        };
        updating.record_gradient(parameter, gradient);
    }
    Ok(updating)
}

fn create_sum(program: &mut Program, parameter: VarId, slot: &str) -> Result<VarId, BuildError> {
    let zeros = Fill::zeros(program.ty(parameter).clone());
    program.create_state(parameter, slot, zeros)
}
