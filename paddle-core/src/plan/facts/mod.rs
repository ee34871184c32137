//! What planning knows of a program before it begins.

mod equal;
mod upper_bounds;

use std::collections::{BTreeMap, BTreeSet};

use self::equal::Equalities;
use self::upper_bounds::Makers;
use super::code::{Grown, LoopId, MadeSize};
use super::fuse::is_constant;
use super::live::{At, live};
use crate::ops::{Op, Operator, Program};
use crate::program::{BlockId, Definition, RowOrigin, RowsId, SymbolId, VarId};

/// What is known of a program.
pub(super) struct Facts {
    /// The operators that a run needs.
    pub(super) live: BTreeSet<At>,
    /// Live operators that read a value.
    pub(super) readers: BTreeMap<VarId, Vec<At>>,
    /// Values that leave the run: outputs, gradients.
    pub(super) kept: BTreeSet<VarId>,
    /// The blocks that hand a value out.
    pub(super) results: BTreeMap<VarId, Vec<BlockId>>,
    /// The operators that make constants.
    pub(super) constants: BTreeMap<VarId, At>,
    /// Parameters and states that some operator changes.
    pub(super) changed: BTreeSet<VarId>,
    /// Values that are parts of another: what comes to the iterations of a loop, what they give.
    pub(super) parts: BTreeMap<VarId, Vec<VarId>>,
    /// The loop that has this block as body.
    pub(super) loop_of: BTreeMap<BlockId, LoopId>,
    /// For each loop, whether its gradient will run.
    pub(super) recorded: Vec<bool>,
    /// Row spaces that something is on.
    pub(super) used: BTreeSet<RowsId>,
    /// For the size of a row space, that of the one that its rows are taken from.
    pub(super) bounds: Vec<Option<SymbolId>>,
    /// Sizes that only a loop knows.
    pub(super) grown: Vec<Grown>,
    /// The numbers of tokens of sequences that operators make.
    pub(super) made: Vec<MadeSize>,
    /// Sizes that the checks of the program make equal.
    pub(super) equal: Equalities,
}

impl Facts {
    pub(super) fn new(program: &Program) -> Self {
        let live = live(program);
        let mut readers: BTreeMap<VarId, Vec<At>> = BTreeMap::new();
        let mut kept: BTreeSet<VarId> = program.gradients().iter().map(|pair| pair.gradient).collect();
        kept.extend(program.outputs());
        let mut results: BTreeMap<VarId, Vec<BlockId>> = BTreeMap::new();
        let mut constants = BTreeMap::new();
        let mut differentiated: BTreeSet<BlockId> = BTreeSet::new();
        let mut used = BTreeSet::new();
        for &at in &live {
            let operator = &program.block(at.0).ops[at.1];
            for input in operator.read() {
                readers.entry(input).or_default().push(at);
            }
            if is_constant(operator) {
                constants.extend(operator.outputs.iter().map(|&output| (output, at)));
            }
            for &var in operator.inputs.iter().chain(&operator.outputs) {
                note_rows(program, program.ty(var).rows, &mut used);
            }
            for &block in &operator.blocks {
                note_rows(program, program.block(block).rows, &mut used);
                for &result in &program.block(block).results {
                    results.entry(result).or_default().push(block);
                }
                differentiated.extend(program.block(block).forward);
            }
        }
        let mut parts: BTreeMap<VarId, Vec<VarId>> = BTreeMap::new();
        let mut loop_of = BTreeMap::new();
        let (mut recorded, mut grown) = (Vec::new(), Vec::new());
        for &at in &live {
            let operator = &program.block(at.0).ops[at.1];
            let (items, states) = match &operator.op {
                Op::For(op) => (usize::try_from(op.items).unwrap_or(0), None),
                Op::While(_) => (0, None),
                Op::LoopGrad(op) => (usize::try_from(op.items).unwrap_or(0), Some(op.of_items())),
                _ => continue,
            };
            let Some(&body) = operator.blocks.last() else { continue };
            let block = program.block(body);
            let state_count = operator.inputs.len().saturating_sub(items);
            let collected = operator.outputs.iter().zip(&block.results).skip(state_count);
            let collected = collected.take(states.unwrap_or(usize::MAX)).map(|(&whole, &part)| (whole, part));
            let brought = operator.inputs.iter().copied().zip(block.params.iter().copied()).take(items);
            for (whole, part) in brought.chain(collected) {
                parts.entry(whole).or_default().push(part);
            }
            if states.is_some() {
                continue;
            }
            let id = LoopId(recorded.len());
            loop_of.insert(body, id);
            recorded.push(differentiated.contains(&body));
            grown.extend(grown_by(program, operator, id));
        }
        let operators = live.iter().map(|at| &program.block(at.0).ops[at.1]);
        let changed = operators.flat_map(Operator::changed).collect();
        let makers = Makers::new(program);
        let mut made = Vec::new();
        for &at in &live {
            let operator = &program.block(at.0).ops[at.1];
            let lengths = operator.inputs.first().and_then(|&input| Some((input, program.ty(input).rows?)));
            if let (Op::SequenceRange(op), Some((lengths, rows))) = (&operator.op, lengths) {
                let size = program.row_space(op.rows).size;
                made.push(MadeSize { size, upper_bounds: makers.sum(lengths, rows) });
            }
        }
        let mut bounds = vec![None; program.symbols().len()];
        for (rows, space) in (0..).map(RowsId).zip(program.row_spaces()) {
            let source = program.source_of(rows);
            bounds[space.size.0 as usize] = source.map(|source| program.row_space(source).size);
        }
        Facts {
            live,
            readers,
            kept,
            results,
            constants,
            changed,
            parts,
            loop_of,
            recorded,
            used,
            bounds,
            grown,
            made,
            equal: Equalities::of(program),
        }
    }
}

impl Facts {
    /// Whether a value is a parameter that nothing in the program changes.
    pub(super) fn is_constant_parameter(&self, program: &Program, var: VarId) -> bool {
        program.var(var).definition == Definition::Parameter && !self.changed.contains(&var)
    }
}

/// Notes a row space and those that it hangs on.
fn note_rows(program: &Program, rows: Option<RowsId>, used: &mut BTreeSet<RowsId>) {
    if let Some(rows) = rows.filter(|&rows| used.insert(rows)) {
        let others = [program.row_space(rows).parent, program.source_of(rows), program.steps_of_loop(rows)];
        others.into_iter().for_each(|other| note_rows(program, other, used));
    }
}

/// The sizes of what a `while` collects.
fn grown_by(program: &Program, operator: &Operator, around: LoopId) -> Option<Grown> {
    let rows = operator.blocks.last().and_then(|&body| program.block(body).rows)?;
    let rounds =
        program.steps_of_loop(rows).filter(|&steps| program.row_space(steps).origin == RowOrigin::Rounds)?;
    let sizes = [rounds, program.source_of(rounds)?].map(|rows| program.row_space(rows).size);
    Some(Grown { sizes, around, rows: program.row_space(program.source_of(rows)?).size })
}
