//! `shard`: turns a network into the one that computes one shard of a batch: rows that follow on each other, sequences
//! as a whole.
//!
//! What the shards give adds up to what the whole batch gives: the cost, and with it, as it is a function of the parameters,
//! its gradient. That is proven, value by value, from what operators say of themselves ([`Operation::of_shards`],
//! [`Operation::is_linear`]); what cannot be proven is refused, with the operator that prevents it.
//!
//! Three things of a shard depend on the batch around it, and are fed as numbers:
//!
//! * a mean over rows counts by the share that the shard has of them;
//! * a value that does not depend on rows, and is added to one that does, counts by the shard's share of the batch;
//! * rows are numbered from the number of rows before the shard, so that random numbers are those that rows draw without
//!   shards.
//!
//! [`Operation::of_shards`]: crate::ops::Operation::of_shards
//! [`Operation::is_linear`]: crate::ops::Operation::is_linear

mod facts;
mod rows;

use std::collections::BTreeMap;

use self::facts::{Fact, Facts, Linear, changes_state};
pub use self::rows::{rows_of_shard, shards_with_rows, share_of_shard};
use super::scalar_input::create_scalar;
use crate::ops::{Binary, BinaryKind, GradientError, OfShards, Op, Operator, Program, RowNumbers, Scale};
use crate::program::{BlockId, BuildError, DType, Located, RowOrigin, RowsId, Site, VarId};

/// What a program that computes one shard is fed with behind the inputs of the network, and what it gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sharding {
    /// The inputs, in order. Each is one element.
    pub inputs: Vec<ShardInput>,
    /// For each output, nothing if those of all shards add up to that of the batch, and else why they do not.
    pub outputs: Vec<Option<Refused>>,
}

/// Why the values of shards do not add up to one of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    place: Option<Located>,
    why: String,
}

impl Refused {
    /// Because of an operator.
    fn by(program: &Program, operator: &Operator, why: &str) -> Self {
        let place = operator.site.place.map(|place| program.locate(place));
        Refused { place, why: format!("`{}` {why}", program.called(operator)) }
    }

    /// The error that there is of what is called `of`. `instead` says what to do, if not to train without shards.
    pub fn error(&self, of: &str, instead: &str) -> GradientError {
        let message = format!(
            "{of} cannot be computed in shards, because it is no sum or mean over rows: {}; train without shards, or \
             {instead}",
            self.why
        );
        GradientError { place: self.place.clone(), message }
    }
}

/// An input that says where a shard is within its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardInput {
    /// What it says.
    pub number: ShardNumber,
    /// Of which rows: the tokens of this input of the network, or else the rows of the batch.
    pub tokens: Option<usize>,
}

/// What an input says of the rows of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardNumber {
    /// The number of its rows by that of all rows, floating point.
    Share,
    /// The number of rows before it, i64.
    Before,
}

/// Turns a network into one that computes a shard of its batches, of which `batch` are the rows; none, if it has no
/// batch. For programs without gradients.
///
/// Errors: the cost, the first output, is not what shards add up to; an operator changes state by the rows of a batch; a size
/// depends on the number of rows.
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
    if let Some(operator) = changes_state(program) {
        let why = "changes what it keeps by all rows of a batch";
        return Err(Refused::by(program, operator, why).error("the network", "leave that out"));
    }
    let mut shards = Shards {
        program,
        facts,
        batch,
        inputs: Vec::new(),
        numbered: BTreeMap::new(),
        replaced: BTreeMap::new(),
    };
    shards.block(Program::GLOBAL)?;
    shards.outputs(&outputs)?;
    let inputs = shards.inputs.into_iter().map(|(input, _)| input).collect();
    Ok(Sharding { inputs, outputs })
}

/// Sizes that depend on the number of rows are those of the whole batch.
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
    /// What is fed.
    inputs: Vec<(ShardInput, VarId)>,
    /// The numbers of rows in the batch.
    numbered: BTreeMap<RowsId, VarId>,
    /// Values for which others stand, which the shard's place was taken into account for.
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
        self.program.block_mut(id).results = results.into_iter().map(|var| self.now(var)).collect();
        Ok(())
    }

    /// The value that stands for a value.
    fn now(&self, var: VarId) -> VarId {
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
        operator.inputs = operator.inputs.iter().map(|&input| self.now(input)).collect();
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
        self.program.push_op(block, operator);
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

    /// The numbers that rows have in the batch, made where the operators of the network have got to.
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

    /// A value that is the same in every shard, so that those of all shards add up to it.
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

    /// The input that says this of rows.
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
            ShardNumber::Before => "shard_before",
        };
        let var = create_scalar(self.program, name, dtype)?;
        self.inputs.push((input, var));
        Ok(var)
    }

    /// Divides the outputs that are the same in every shard.
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
