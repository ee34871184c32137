//! Facts: how the values of a shard relate to the values of the whole batch.

use std::collections::BTreeSet;

use super::Refused;
use crate::ops::{Form, OfShards, Op, Operator, Program};
use crate::program::{BlockId, Definition, Dim, RowOrigin, RowsId, SymbolId, Type, VarId};

/// How the value of a shard relates to the value of the whole batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fact {
    /// Both are equal, in every shard.
    Same,
    /// The shard's value has the shard's rows of the batch's value.
    Rows,
    /// The values of all shards add up to the value of the batch.
    Part,
    /// Unknown, because of an operator.
    Other(Reason),
}

/// The operator that makes a value's fact unknown, and the reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reason {
    block: BlockId,
    at: usize,
    why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Why {
    /// It mixes rows.
    AllRows,
    /// It draws random numbers by their places.
    Places,
    /// It is a mean over rows whose number only the run knows.
    Chosen,
    /// It reads a sum over rows and is not linear.
    NotLinear,
    /// It combines a sum over rows with each row.
    ForEachRow,
    /// A value is a sum over rows on one path into or out of its blocks, but not on another one.
    Ways,
    /// It depends on the number of rows.
    Count,
}

impl Reason {
    /// The reason in words.
    pub(super) fn refused(self, program: &Program) -> Refused {
        let operator = &program.block(self.block).ops[self.at];
        let why = match self.why {
            Why::AllRows => "computes with all rows of the batch together",
            Why::Places => "draws its numbers by their places in the batch, and not by the rows",
            Why::Chosen => {
                "is a mean over the rows that a branch runs on, and how many these are is only known in the end"
            }
            Why::NotLinear => "is not linear, and reads a sum or a mean over all rows",
            Why::ForEachRow => "reads, for each row, a sum or a mean over all of them",
            Why::Ways => "has a sum or a mean over all rows on one way, and another value on the other",
            Why::Count => "depends on the number of rows",
        };
        Refused::by(program, operator, why)
    }
}

/// The way in which an operator that reads sums over rows computes another one.
pub(super) enum Linear {
    /// Without a change.
    Plain,
    /// These inputs, which are the same in every shard, first have to be multiplied by the shard's share.
    Shared(Vec<usize>),
    /// By this operator instead; then each shard adds its share of the constant.
    Affine(Op, f64),
}

/// The facts of all values of a network.
pub(super) struct Facts {
    /// For each row space, whether shards cut it: that of the batch, and those taken from it.
    cut: Vec<bool>,
    /// The sizes of the row spaces that are cut.
    counts: BTreeSet<SymbolId>,
    facts: Vec<Option<Fact>>,
}

impl Facts {
    /// Finds the facts of a network whose row space `batch` is cut.
    pub(super) fn of(program: &Program, batch: Option<RowsId>) -> Self {
        let spaces = program.row_spaces();
        let around = |rows| std::iter::successors(Some(rows), |&rows| program.row_space(rows).parent);
        let cut: Vec<bool> = (0..spaces.len() as u32)
            .map(|rows| around(RowsId(rows)).any(|rows| Some(rows) == batch))
            .collect();
        let counts = spaces.iter().zip(&cut).filter(|(_, cut)| **cut).map(|(space, _)| space.size).collect();
        let mut facts = Facts { cut, counts, facts: vec![None; program.vars().len()] };
        for (var, value) in program.vars().iter().enumerate() {
            facts.facts[var] = match value.definition {
                Definition::Input | Definition::Parameter | Definition::State => {
                    Some(if facts.is_cut(&value.ty) { Fact::Rows } else { Fact::Same })
                }
                Definition::BlockParameter | Definition::Operator => None,
            };
        }
        // Loops carry facts back to the start of their bodies, so this repeats until nothing changes.
        while facts.propagate_once(program) {}
        facts
    }

    /// The fact of a value. Values that no operator reaches have none.
    pub(super) fn get(&self, var: VarId) -> Option<Fact> {
        self.facts.get(var.0 as usize).copied().flatten()
    }

    /// Whether the rows of a type are cut.
    pub(super) fn is_cut(&self, ty: &Type) -> bool {
        ty.rows.is_some_and(|rows| self.cut[rows.0 as usize])
    }

    /// Whether a size depends on the number of rows of a cut row space.
    pub(super) fn counts_rows(&self, dim: &Dim) -> bool {
        self.is_count(&dim.symbols())
    }

    /// Whether one of these symbols is the number of rows of a cut row space.
    pub(super) fn is_count(&self, symbols: &[SymbolId]) -> bool {
        symbols.iter().any(|symbol| self.counts.contains(symbol))
    }

    /// Goes through all operators once and adds what follows. Returns whether a fact was added or changed.
    fn propagate_once(&mut self, program: &Program) -> bool {
        let before = self.facts.clone();
        for (id, block) in program.blocks().iter().enumerate() {
            for (at, operator) in block.ops.iter().enumerate() {
                let reason = |why| Fact::Other(Reason { block: BlockId(id as u32), at, why });
                if operator.op.effects().blocks {
                    self.pass_blocks(program, operator, &reason);
                    continue;
                }
                for (output, &var) in operator.outputs.iter().enumerate() {
                    if let Some(fact) = self.output(program, operator, output, &reason) {
                        self.add(var, fact, fact);
                    }
                }
            }
        }
        self.facts != before
    }

    /// Adds a fact. A value that already has a different one gets `otherwise`.
    fn add(&mut self, var: VarId, fact: Fact, otherwise: Fact) {
        let known = &mut self.facts[var.0 as usize];
        *known = Some(match *known {
            None => fact,
            Some(Fact::Other(reason)) => Fact::Other(reason),
            Some(known) if known == fact => fact,
            Some(_) => otherwise,
        });
    }

    /// Passes facts between an operator and its blocks.
    fn pass_blocks(&mut self, program: &Program, operator: &Operator, reason: &dyn Fn(Why) -> Fact) {
        let Some(control) = operator.op.operation().control() else { return };
        // A per-row condition has the fact `Rows`: each shard decides for its own rows.
        let decided = control.decided_by(program, operator).map(|var| self.get(var));
        let goes_apart = match decided {
            // A condition without a fact is accepted for now: it may depend on the values that pass through the loop.
            Some(None | Some(Fact::Same | Fact::Rows)) => None,
            Some(Some(Fact::Part)) | None => Some(reason(Why::AllRows)),
            Some(Some(other)) => Some(other),
        };
        for (from, to) in control.flow(program, operator) {
            if let Some(fact) = self.get(from) {
                let fact = goes_apart.unwrap_or(fact);
                let otherwise = if matches!(fact, Fact::Other(_)) { fact } else { reason(Why::Ways) };
                self.add(to, fact, otherwise);
            }
        }
    }

    /// The fact of an output. `None` until all inputs have facts.
    fn output(
        &self,
        program: &Program,
        operator: &Operator,
        output: usize,
        reason: &dyn Fn(Why) -> Fact,
    ) -> Option<Fact> {
        let mut parts = false;
        for input in operator.read() {
            match self.get(input)? {
                Fact::Other(other) => return Some(Fact::Other(other)),
                Fact::Part => parts = true,
                Fact::Same | Fact::Rows => {}
            }
        }
        let ty = program.ty(operator.outputs[output]);
        let has_rows = |var: &VarId| self.is_cut(program.ty(*var));
        let of_rows = operator.inputs.iter().any(has_rows);
        if self.reads_counts(operator) || ty.dims.iter().any(|dim| self.counts_rows(dim)) {
            return Some(reason(Why::Count));
        }
        if parts {
            return Some(match self.linear(program, operator) {
                _ if of_rows || self.is_cut(ty) => reason(Why::ForEachRow),
                Some(_) if ty.dtype.is_float() => Fact::Part,
                _ => reason(Why::NotLinear),
            });
        }
        if !of_rows && !self.is_cut(ty) {
            return Some(Fact::Same);
        }
        Some(match (operator.op.operation().of_shards(program, operator, output), self.is_cut(ty)) {
            (OfShards::Rows | OfShards::OwnRows | OfShards::Numbers, true) => Fact::Rows,
            (OfShards::Same, false) => Fact::Same,
            (OfShards::Sum, false) => Fact::Part,
            (OfShards::Mean, false) => match self.fed_rows(program, operator) {
                Some(_) => Fact::Part,
                None => reason(Why::Chosen),
            },
            (OfShards::Drawn, true) => match self.fed_rows(program, operator) {
                Some(_) => Fact::Rows,
                None => reason(Why::Places),
            },
            _ => reason(Why::AllRows),
        })
    }

    /// The cut row space that an operator reads or numbers, if the number of its rows is known when a batch is fed.
    pub(super) fn fed_rows(&self, program: &Program, operator: &Operator) -> Option<RowsId> {
        let rows = operator.inputs.iter().chain(&operator.outputs).map(|&var| program.ty(var));
        let rows = rows.filter(|ty| self.is_cut(ty)).find_map(|ty| ty.rows)?;
        let is_fed = match program.row_space(rows).origin {
            RowOrigin::Root => true,
            RowOrigin::Tokens => program.inputs().iter().any(|&input| program.ty(input).rows == Some(rows)),
            _ => false,
        };
        is_fed.then_some(rows)
    }

    /// Whether an attribute depends on the number of rows of a cut row space.
    fn reads_counts(&self, operator: &Operator) -> bool {
        operator.op.attributes().iter().any(|(_, attribute)| self.is_count(&attribute.symbols()))
    }

    /// The way in which an operator that reads sums over rows computes one. `None` if its output is no such sum.
    pub(super) fn linear(&self, program: &Program, operator: &Operator) -> Option<Linear> {
        let operation = operator.op.operation();
        let is = |fact| {
            let of = operator.inputs.iter().enumerate();
            let of = of.filter(move |(k, var)| operation.input(*k).is_read && self.get(**var) == Some(fact));
            of.map(|(k, _)| k).collect::<Vec<_>>()
        };
        let (parts, same) = (is(Fact::Part), is(Fact::Same));
        if operation.linear().is_in(&parts) {
            return Some(Linear::Plain);
        }
        let mut all = [&parts[..], &same].concat();
        all.sort_unstable();
        if operation.linear().is_in(&all)
            && same.iter().all(|&k| program.ty(operator.inputs[k]).dtype.is_float())
        {
            return Some(Linear::Shared(same));
        }
        let Some(Form::Affine(op, constant)) = operator.form(program) else { return None };
        op.operation().linear().is_in(&parts).then_some(Linear::Affine(op, constant))
    }
}
