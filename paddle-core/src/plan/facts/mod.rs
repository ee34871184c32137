//! Facts about a program, which planning collects before it lowers the program.

mod equal;
mod upper_bounds;

use std::collections::{BTreeMap, BTreeSet};

use self::equal::Equalities;
use self::upper_bounds::Makers;
use super::backend::Layout;
use super::code::{GrownSizes, LoopId, MadeSize};
use super::fuse::is_constant;
use super::live::{At, live};
use super::prepare::prepared;
use super::views::views;
use crate::ops::{Op, Operator, Program};
use crate::passes::{Switch, Switches};
use crate::program::{BlockId, Definition, Role, RowOrigin, RowsId, SymbolId, VarId};

/// Facts about a program.
pub(super) struct Facts {
    /// The operators that a run needs.
    pub(super) live: BTreeSet<At>,
    /// The live operators that read each value.
    pub(super) readers: BTreeMap<VarId, Vec<At>>,
    /// The values that leave the run: outputs and gradients.
    pub(super) kept: BTreeSet<VarId>,
    /// The live blocks that each value is a result of.
    pub(super) results: BTreeMap<VarId, Vec<BlockId>>,
    /// The operator that makes each constant.
    pub(super) constants: BTreeMap<VarId, At>,
    /// The parameters and states that a live operator changes.
    pub(super) changed: BTreeSet<VarId>,
    /// Those that an operator in front of the update changes.
    changed_by_step: BTreeSet<VarId>,
    /// The blocks that a run may come to several times: bodies of loops and of their gradients, with the blocks inside of them.
    repeated: BTreeSet<BlockId>,
    /// The operators that depend on unchanged parameters alone, and their results.
    pub(super) prepared: BTreeSet<At>,
    pub(super) prepared_values: BTreeSet<VarId>,
    /// For a value that has the rows of all iterations of a loop: the variables of the body that are the part of one
    /// iteration. These are an item or a collected result.
    pub(super) parts: BTreeMap<VarId, Vec<VarId>>,
    /// Values that may be in the memory of others, and the number of elements there in front of them.
    pub(super) views: BTreeMap<VarId, usize>,
    /// For each value, those that may be views of it.
    pub(super) viewed: BTreeMap<VarId, Vec<VarId>>,
    /// The loop of each block that is the body of a loop.
    pub(super) loop_of: BTreeMap<BlockId, LoopId>,
    /// For each loop, whether a gradient block of its body runs.
    pub(super) recorded: Vec<bool>,
    /// The row spaces of live operands and blocks, and those that they depend on.
    pub(super) used: BTreeSet<RowsId>,
    /// For each symbol that is the size of a row space taken from another: the size of that other space, which is an
    /// upper bound.
    pub(super) bounds: Vec<Option<SymbolId>>,
    /// The sizes that are known only when a loop has run.
    pub(super) grown: Vec<GrownSizes>,
    /// The sizes that are the number of tokens of made sequences.
    pub(super) made: Vec<MadeSize>,
    /// The classes of sizes that the checks of the program make equal.
    pub(super) equal: Equalities,
}

impl Facts {
    /// Collects the facts that the passes which are on need. Values may have this layout.
    pub(super) fn new(program: &Program, layout: &Layout, switches: Switches) -> Self {
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
        let changed: BTreeSet<VarId> = operators.flat_map(Operator::changed).collect();
        let before_update = live.iter().filter(|at| !is_update(program, **at));
        let before_update = before_update.map(|at| &program.block(at.0).ops[at.1]);
        let changed_by_step = before_update.flat_map(Operator::changed).collect();
        let is_fixed = |var| is_constant_parameter(program, &changed, var);
        // A number of elements differs between batches.
        let mut of_all_runs = constants.clone();
        of_all_runs.retain(|_, at: &mut At| program.block(at.0).ops[at.1].inputs.is_empty());
        let prepared = match switches.has(Switch::Prepare) {
            true => prepared(program, &live, &kept, &of_all_runs, is_fixed),
            false => BTreeSet::new(),
        };
        let escapes = |var: VarId| kept.contains(&var) || results.contains_key(&var);
        let views = match switches.has(Switch::Views) {
            true => views(program, &live, layout, escapes),
            false => BTreeMap::new(),
        };
        let mut viewed: BTreeMap<VarId, Vec<VarId>> = BTreeMap::new();
        for (&view, &(of, _)) in &views {
            viewed.entry(of).or_default().push(view);
        }
        let views = views.into_iter().map(|(view, (_, first))| (view, first)).collect();
        let outputs = prepared.iter().flat_map(|at| &program.block(at.0).ops[at.1].outputs);
        let prepared_values = outputs.copied().collect();
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
        let repeated = repeated(program, &live);
        Facts {
            live,
            readers,
            kept,
            results,
            constants,
            changed,
            changed_by_step,
            repeated,
            prepared,
            prepared_values,
            parts,
            views,
            viewed,
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
    /// Whether a value is the same in all runs until parameters change: a parameter that nothing in the program changes, or
    /// a result of such parameters alone.
    pub(super) fn is_fixed(&self, program: &Program, var: VarId) -> bool {
        is_constant_parameter(program, &self.changed, var) || self.prepared_values.contains(&var)
    }

    /// Whether a value that a block reads is the same in all launches between two changes of the parameters: if it is fixed, or a
    /// parameter that only the update changes, and the block is run several times before.
    pub(super) fn is_kept(&self, program: &Program, block: BlockId, var: VarId) -> bool {
        let is_kept = || is_constant_parameter(program, &self.changed_by_step, var);
        self.is_fixed(program, var) || self.repeated.contains(&block) && is_kept()
    }
}

/// Whether an operator is of the update, which runs behind all others.
pub(super) fn is_update(program: &Program, at: At) -> bool {
    at.0 == Program::GLOBAL && program.block(at.0).ops[at.1].site.role == Role::Optimize
}

/// See [`Facts::repeated`].
fn repeated(program: &Program, live: &BTreeSet<At>) -> BTreeSet<BlockId> {
    let mut repeated = BTreeSet::new();
    let is_loop =
        |at: &&At| matches!(program.block(at.0).ops[at.1].op, Op::For(_) | Op::While(_) | Op::LoopGrad(_));
    let mut rest: Vec<BlockId> = live
        .iter()
        .filter(is_loop)
        .flat_map(|at| program.block(at.0).ops[at.1].blocks.iter().copied())
        .collect();
    while let Some(block) = rest.pop() {
        if repeated.insert(block) {
            rest.extend(program.block(block).ops.iter().flat_map(|operator| operator.blocks.iter().copied()));
        }
    }
    repeated
}

/// Whether a value is a parameter that nothing in the program changes.
fn is_constant_parameter(program: &Program, changed: &BTreeSet<VarId>, var: VarId) -> bool {
    program.var(var).definition == Definition::Parameter && !changed.contains(&var)
}

/// Adds a row space to `used`, with all row spaces that it depends on.
fn note_rows(program: &Program, rows: Option<RowsId>, used: &mut BTreeSet<RowsId>) {
    if let Some(rows) = rows.filter(|&rows| used.insert(rows)) {
        let others = [program.row_space(rows).parent, program.source_of(rows), program.steps_of_loop(rows)];
        others.into_iter().for_each(|other| note_rows(program, other, used));
    }
}

/// The sizes of the values that a `while` collects; none if it collects none.
fn grown_by(program: &Program, operator: &Operator, around: LoopId) -> Option<GrownSizes> {
    let rows = operator.blocks.last().and_then(|&body| program.block(body).rows)?;
    let rounds =
        program.steps_of_loop(rows).filter(|&steps| program.row_space(steps).origin == RowOrigin::Rounds)?;
    let sizes = [rounds, program.source_of(rounds)?].map(|rows| program.row_space(rows).size);
    Some(GrownSizes { sizes, around, rows: program.row_space(program.source_of(rows)?).size })
}
