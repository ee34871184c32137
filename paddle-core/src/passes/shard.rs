//! `shard`: turns a network into the program for one shard of a batch: a run of consecutive rows, with whole sequences.
//!
//! The costs of all shards add up to the cost of the batch, and so do their gradients. The pass proves this value by
//! value, from what operators say of themselves ([`Operation::of_shards`], [`Operation::linear`]). If the proof
//! fails, the error names the operator that prevents it.
//!
//! A shard depends on the batch around it in three ways, each of which is an input of the program:
//!
//! * a mean over rows is multiplied by the shard's share of these rows;
//! * a value that does not depend on rows, and is added to a sum over rows, is multiplied by the shard's share of the
//!   batch;
//! * row numbers start at the number of rows in front of the shard, so each row draws the same random numbers as
//!   without shards.
//!
//! [`Operation::of_shards`]: crate::ops::Operation::of_shards
//! [`Operation::linear`]: crate::ops::Operation::linear

mod facts;
mod rows;
pub mod tree;

use std::collections::BTreeMap;

use self::facts::{Fact, Facts, Linear};
pub use self::rows::{rows_of_shard, shards_with_rows, share_of_shard, weight_of_shard};
use super::scalar_input::create_scalar;
use crate::ops::{
    Binary, BinaryKind, GradientError, Mode, OfShards, Op, Operator, Program, RowNumbers, Scale, Statistics,
};
use crate::program::{
    BlockId, BuildError, DType, Located, ParameterGradient, Role, RowOrigin, RowsId, Site, VarId,
};

/// The inputs that a shard's program has behind those of the network, and what its outputs add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sharding {
    /// The inputs, in order. Each is one element.
    pub inputs: Vec<ShardInput>,
    /// The statistics that the operators of one machine move in place, and by how much each becomes less: the values of all
    /// shards add up to that of the batch.
    pub statistics: Vec<ParameterGradient>,
    /// For each output, `None` if the values of all shards add up to that of the batch; otherwise the reason why they
    /// do not.
    pub outputs: Vec<Option<Refused>>,
}

/// The reason why the values of shards do not add up to the value of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    place: Option<Located>,
    why: String,
}

impl Refused {
    /// A reason that an operator is to blame for.
    fn by(program: &Program, operator: &Operator, why: &str) -> Self {
        let place = operator.site.place.map(|place| program.locate(place));
        Refused { place, why: format!("`{}` {why}", program.called(operator)) }
    }

    /// The error about `of`. `instead` says what to do; by default, to train without shards.
    pub fn error(&self, of: &str, instead: &str) -> GradientError {
        let message = format!(
            "{of} cannot be computed in shards, because it is no sum or mean over rows: {}; train without shards, or \
             {instead}",
            self.why
        );
        GradientError { place: self.place.clone(), message }
    }
}

/// An input that describes the position of a shard in its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardInput {
    /// The number that it holds.
    pub number: ShardNumber,
    /// The rows that the number is about: the tokens of this input of the network; `None` for the rows of the batch.
    pub tokens: Option<usize>,
}

/// A number about the rows of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardNumber {
    /// The number of the shard's rows divided by that of all rows, floating point. If there are none, the first shard has 1.
    Share,
    /// The same, but 0 in every shard if there are no rows.
    Weight,
    /// The number of rows in front of the shard, i64.
    Before,
}

/// Turns a network into the program for one shard of its batches. `batch` is the row space of the batch; `None` if the
/// network has none. For programs without gradients.
///
/// Errors if the cost, the first output, is not the sum of the shards' values; if an operator changes state by the rows
/// of a batch; if a size depends on the number of rows.
pub fn shard(program: &mut Program, batch: Option<RowsId>) -> Result<Sharding, GradientError> {
    let facts = Facts::of(program, batch);
    check_sizes(program, &facts)?;
    let refused = |&output: &VarId| match facts.get(output) {
        Some(Fact::Part) => None,
        Some(Fact::Same) if program.ty(output).dtype.is_float() => None,
        Some(Fact::Other(reason)) => Some(reason.refused(program)),
        Some(Fact::Same | Fact::Rows) | None => {
            let shown = program.show(program.ty(output));
            Some(Refused { place: None, why: format!("it is {shown}") })
        }
    };
    let outputs: Vec<_> = program.outputs().iter().map(refused).collect();
    if let Some(Some(refused)) = outputs.first() {
        return Err(refused.error("the cost", "compute it of each row alone"));
    }
    check_statistics(program, &facts)?;
    let mut shards = Shards {
        program,
        facts,
        batch,
        inputs: Vec::new(),
        statistics: Vec::new(),
        numbered: BTreeMap::new(),
        replaced: BTreeMap::new(),
    };
    shards.block(Program::GLOBAL)?;
    shards.outputs(&outputs)?;
    let inputs = shards.inputs.into_iter().map(|(input, _)| input).collect();
    Ok(Sharding { inputs, statistics: shards.statistics, outputs })
}

/// Errors if an operator changes parameters or statistics by a batch, and a step cannot do so once for all shards.
fn check_statistics(program: &Program, facts: &Facts) -> Result<(), GradientError> {
    let refused = |operator: &Operator, why: &str| {
        Err(Refused::by(program, operator, why).error("the network", "leave that out"))
    };
    for (id, block) in program.blocks().iter().enumerate() {
        let changing =
            |operator: &&Operator| operator.op.effects().state && operator.site.role == Role::Forward;
        for operator in block.ops.iter().filter(changing) {
            if operator.op.operation().in_mode(Mode::Frozen).is_none() {
                return refused(operator, "changes what it keeps by all rows of a batch");
            }
            let is_cut = operator.read().any(|input| facts.is_cut(program.ty(input)));
            if BlockId(id as u32) != Program::GLOBAL || is_cut && facts.fed_rows(program, operator).is_none()
            {
                let why = "moves its statistics by rows whose number is only known in the end";
                return refused(operator, why);
            }
        }
    }
    Ok(())
}

/// Errors if a check, or the size of an input, depends on the number of rows: a shard has fewer rows than the batch.
fn check_sizes(program: &Program, facts: &Facts) -> Result<(), GradientError> {
    let but = "so it cannot be computed in shards; train without";
    if let Some(check) = program.checks().iter().find(|check| facts.is_count(&check.condition.symbols())) {
        let place = check.place.map(|place| program.locate(place));
        return Err(GradientError {
            place,
            message: format!("the network compares the number of rows with another size, {but}"),
        });
    }
    let by_rows = |input: &&VarId| program.ty(**input).dims.iter().any(|dim| facts.counts_rows(dim));
    match program.inputs().iter().find(by_rows) {
        Some(&input) => {
            let name = &program.var(input).name;
            let message = format!("the size of `{name}` depends on the number of rows, {but}");
            Err(GradientError { place: None, message })
        }
        None => Ok(()),
    }
}

struct Shards<'a> {
    program: &'a mut Program,
    facts: Facts,
    batch: Option<RowsId>,
    /// The added inputs.
    inputs: Vec<(ShardInput, VarId)>,
    /// The statistics, and by how much they become less.
    statistics: Vec<ParameterGradient>,
    /// The numbers that rows have in the batch, by row space.
    numbered: BTreeMap<RowsId, VarId>,
    /// Values of the network, and the values that replace them in a shard.
    replaced: BTreeMap<VarId, VarId>,
}

impl Shards<'_> {
    fn block(&mut self, id: BlockId) -> Result<(), BuildError> {
        let operators = std::mem::take(&mut self.program.block_mut(id).ops);
        for operator in operators {
            for &inner in &operator.blocks {
                self.block(inner)?;
            }
            self.operator(id, operator)?;
        }
        let results = self.program.block(id).results.clone();
        self.program.block_mut(id).results =
            results.into_iter().map(|var| self.replacement_of(var)).collect();
        Ok(())
    }

    /// The value that replaces `var`, or `var` itself.
    fn replacement_of(&self, var: VarId) -> VarId {
        self.replaced.get(&var).copied().unwrap_or(var)
    }

    fn operator(&mut self, block: BlockId, mut operator: Operator) -> Result<(), BuildError> {
        let reads_parts = operator.read().any(|input| self.facts.get(input) == Some(Fact::Part));
        let gives_parts = operator.outputs.iter().any(|&var| self.facts.get(var) == Some(Fact::Part));
        let is_plain = !operator.op.effects().blocks;
        let linear = match reads_parts && gives_parts && is_plain {
            true => self.facts.linear(self.program, &operator),
            false => None,
        };
        let of_shards: Vec<OfShards> = match is_plain && !reads_parts {
            true => (0..operator.outputs.len())
                .map(|output| operator.op.operation().of_shards(self.program, &operator, output))
                .collect(),
            false => Vec::new(),
        };
        let rows = self.facts.fed_rows(self.program, &operator);
        let (site, output) = (operator.site, operator.outputs.first().copied());
        operator.inputs = operator.inputs.iter().map(|&input| self.replacement_of(input)).collect();
        let mut constant = None;
        match linear {
            Some(Linear::Shared(inputs)) => {
                for k in inputs {
                    operator.inputs[k] = self.share_of(block, operator.inputs[k], site)?;
                }
            }
            Some(Linear::Affine(op, number)) => {
                operator.op = op;
                constant = Some(number);
            }
            Some(Linear::Plain) | None => {}
        }
        let outputs = operator.outputs.clone();
        if let (Some(OfShards::Drawn), Some(rows)) = (of_shards.first(), rows) {
            operator.inputs.push(self.numbers(rows, site)?);
        }
        let moving = operator.op.clone();
        if let Some(op) = operator.op.operation().in_mode(Mode::Frozen) {
            operator.op = op;
        }
        self.program.push_op(block, operator.clone());
        self.move_statistics(&moving, block, &operator, rows)?;
        for (var, of_shards) in outputs.into_iter().zip(of_shards) {
            let (kind, number) = match (of_shards, self.facts.get(var)) {
                (OfShards::Mean, Some(Fact::Part)) => (BinaryKind::Mul, ShardNumber::Share),
                (OfShards::Numbers, Some(Fact::Rows)) => (BinaryKind::Add, ShardNumber::Before),
                _ => continue,
            };
            let number = self.number(rows, number, self.program.ty(var).dtype)?;
            let whole = self.append(block, Binary { kind }, &[var, number], site)?;
            self.replaced.insert(var, whole);
        }
        if let (Some(constant), Some(var)) = (constant, output) {
            let share = self.number(self.batch, ShardNumber::Share, self.program.ty(var).dtype)?;
            let share = self.append(block, Scale { scale: constant, bias: 0.0 }, &[share], site)?;
            let sum = self.append(block, Binary { kind: BinaryKind::Add }, &[var, share], site)?;
            self.replaced.insert(var, sum);
        }
        Ok(())
    }

    /// Appends by how much `moving`, which `operator` replaces, would move its statistics, times the shard's weight.
    fn move_statistics(
        &mut self,
        moving: &Op,
        block: BlockId,
        operator: &Operator,
        rows: Option<RowsId>,
    ) -> Result<(), BuildError> {
        let mut statistics = Statistics { program: self.program, block, operator };
        for ParameterGradient { parameter, gradient } in moving.operation().moved(&mut statistics)? {
            let dtype = self.program.ty(gradient).dtype;
            let weight = self.number(rows.or(self.batch), ShardNumber::Weight, dtype)?;
            let multiply = Binary { kind: BinaryKind::Mul };
            let gradient = self.append(block, multiply, &[gradient, weight], operator.site)?;
            self.statistics.push(ParameterGradient { parameter, gradient });
        }
        Ok(())
    }

    /// The numbers that rows have in the batch. The operators are inserted at the present position.
    fn numbers(&mut self, rows: RowsId, site: Site) -> Result<VarId, BuildError> {
        if let Some(&known) = self.numbered.get(&rows) {
            return Ok(known);
        }
        let before = self.number(Some(rows), ShardNumber::Before, DType::I64)?;
        let within = self.append(Program::GLOBAL, RowNumbers::of(rows), &[], site)?;
        let numbers =
            self.append(Program::GLOBAL, Binary { kind: BinaryKind::Add }, &[within, before], site)?;
        self.numbered.insert(rows, numbers);
        Ok(numbers)
    }

    /// Multiplies a value that is the same in every shard by the shard's share of the rows, so that the values of all
    /// shards add up to it.
    fn share_of(&mut self, block: BlockId, var: VarId, site: Site) -> Result<VarId, BuildError> {
        let share = self.number(self.batch, ShardNumber::Share, self.program.ty(var).dtype)?;
        self.append(block, Binary { kind: BinaryKind::Mul }, &[var, share], site)
    }

    fn append(
        &mut self,
        block: BlockId,
        op: impl Into<Op>,
        inputs: &[VarId],
        site: Site,
    ) -> Result<VarId, BuildError> {
        Ok(self.program.append_op(block, op, inputs, site)?[0])
    }

    /// The input with this number about `rows`, added on first use.
    fn number(
        &mut self,
        rows: Option<RowsId>,
        number: ShardNumber,
        dtype: DType,
    ) -> Result<VarId, BuildError> {
        let is_tokens = |rows: &RowsId| self.program.row_space(*rows).origin == RowOrigin::Tokens;
        let tokens = rows.filter(is_tokens).and_then(|rows| {
            let mut inputs = self.program.inputs().iter();
            inputs.position(|&input| self.program.ty(input).rows == Some(rows))
        });
        let input = ShardInput { number, tokens };
        let is_known =
            |(known, var): &&(ShardInput, VarId)| *known == input && self.program.ty(*var).dtype == dtype;
        if let Some(&(_, var)) = self.inputs.iter().find(is_known) {
            return Ok(var);
        }
        let name = match number {
            ShardNumber::Share => "shard_share",
            ShardNumber::Weight => "shard_weight",
            ShardNumber::Before => "shard_before",
        };
        let var = create_scalar(self.program, name, dtype)?;
        self.inputs.push((input, var));
        Ok(var)
    }

    /// Multiplies outputs that are the same in every shard by the shard's share.
    fn outputs(&mut self, refused: &[Option<Refused>]) -> Result<(), BuildError> {
        let mut outputs = self.program.outputs().to_vec();
        for (output, refused) in outputs.iter_mut().zip(refused) {
            if refused.is_none() && self.facts.get(*output) == Some(Fact::Same) {
                *output = self.share_of(Program::GLOBAL, *output, Site::default())?;
            }
        }
        self.program.set_outputs(&outputs)
    }
}
