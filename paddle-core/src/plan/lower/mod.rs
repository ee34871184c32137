//! Lowering: a program becomes instructions over slots, with the lifetime of every slot.

mod control;
mod equal;
mod group;
mod loops;
mod moves;
mod slots;
mod spaces;
mod unwind;
mod upper_bounds;

use std::collections::{BTreeMap, BTreeSet};

use self::equal::Equalities;
use self::slots::OpenLoop;
use self::upper_bounds::Makers;
use super::backend::{Backend, Move, Side};
use super::code::{
    Grown, Home, Input, Instruction, Kept, Kernel, Lane, LoopId, LoopInfo, MadeSize, Operators, Order,
    Origin, Output, Plan, Sequences, Slot, SlotId, Space, Taken,
};
use super::error::PlanError;
use super::fuse::is_constant;
use super::live::{At, live};
use super::numbers::Numbers;
use super::schedule::schedule;
use super::stats::RunStats;
use super::storage::{Storage, changed_in_use};
use crate::ops::{Custom, Op, Operator, Program};
use crate::program::{BlockId, Dim, Role, RowOrigin, RowsId, Symbol, SymbolId, VarId};

/// Plans a program for a backend.
pub(super) fn lower<B: Backend>(
    backend: &B,
    program: &Program,
    storage: &Storage,
    states: &Storage,
    numbers: Numbers,
) -> Result<Plan<Kernel<B>>, PlanError> {
    program.verify()?;
    let mut lowering = Lowering::new(backend, program, storage, states, numbers);
    lowering.kernels()?;
    lowering.inputs()?;
    let mut code = lowering.fed_sequences()?;
    code.extend(lowering.block(Program::GLOBAL)?);
    lowering.finish(code)
}

struct Lowering<'a, B: Backend> {
    backend: &'a B,
    program: &'a Program,
    storage: &'a Storage,
    states: &'a Storage,
    numbers: Numbers,
    live: BTreeSet<At>,
    /// Live operators that read a value.
    readers: BTreeMap<VarId, Vec<At>>,
    /// Values that leave the run: outputs, gradients.
    kept: BTreeSet<VarId>,
    /// The blocks that hand a value out.
    results: BTreeMap<VarId, Vec<BlockId>>,
    /// The operators that make constants.
    constants: BTreeMap<VarId, At>,
    /// Values that are parts of another: what comes to the iterations of a loop, what they give.
    parts: BTreeMap<VarId, Vec<VarId>>,
    /// Bodies of loops.
    loop_of: BTreeMap<BlockId, LoopId>,
    /// Those whose gradient has been lowered.
    unwound: BTreeSet<LoopId>,
    code: Vec<Vec<Instruction<Kernel<B>>>>,
    /// Where launches come from, by their numbers.
    origins: Vec<Origin>,
    slots: Vec<Slot>,
    slot_of: BTreeMap<VarId, SlotId>,
    /// Slots of values that are not defined yet.
    given: BTreeMap<VarId, SlotId>,
    /// Values that were brought to the rows of a loop before it began.
    prepared: BTreeSet<VarId>,
    spaces: Vec<Space>,
    space_of: BTreeMap<RowsId, usize>,
    /// Row spaces that something is on.
    used: BTreeSet<RowsId>,
    orders: Vec<Order>,
    /// By the steps.
    order_of: BTreeMap<RowsId, usize>,
    taken: Vec<Taken>,
    taken_of: BTreeMap<RowsId, usize>,
    /// The offsets of the sequences whose tokens are a row space, where they are read.
    offsets_of: BTreeMap<RowsId, SlotId>,
    loops: Vec<LoopInfo>,
    lanes: Vec<Lane>,
    grown: Vec<Grown>,
    /// The numbers of tokens of sequences that operators make.
    made: Vec<MadeSize>,
    /// For the size of a row space, that of the one that its rows are taken from.
    bounds: Vec<Option<SymbolId>>,
    extents: Vec<Dim>,
    /// What the checks of the program make equal.
    equal: Equalities,
    inputs: Vec<Input>,
    /// Loops around the current instruction, the outermost first.
    open: Vec<OpenLoop>,
    /// The first instruction of the global block that updates.
    update_from: Option<usize>,
    /// Counts instructions through all blocks.
    now: usize,
    /// Counters of the products that were lowered.
    stats: RunStats,
}

impl<'a, B: Backend> Lowering<'a, B> {
    fn new(
        backend: &'a B,
        program: &'a Program,
        storage: &'a Storage,
        states: &'a Storage,
        numbers: Numbers,
    ) -> Self {
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
        let (mut loops, mut grown) = (Vec::new(), Vec::new());
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
            let id = LoopId(loops.len());
            loop_of.insert(body, id);
            loops.push(LoopInfo { recorded: differentiated.contains(&body), ..LoopInfo::default() });
            grown.extend(grown_by(program, operator, id));
        }
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
        Lowering {
            backend,
            program,
            storage,
            states,
            numbers,
            live,
            readers,
            kept,
            results,
            constants,
            parts,
            loop_of,
            loops,
            lanes: Vec::new(),
            grown,
            made,
            bounds,
            used,
            unwound: BTreeSet::new(),
            code: vec![Vec::new()],
            origins: Vec::new(),
            slots: Vec::new(),
            slot_of: BTreeMap::new(),
            given: BTreeMap::new(),
            prepared: BTreeSet::new(),
            spaces: Vec::new(),
            space_of: BTreeMap::new(),
            orders: Vec::new(),
            order_of: BTreeMap::new(),
            taken: Vec::new(),
            taken_of: BTreeMap::new(),
            offsets_of: BTreeMap::new(),
            extents: Vec::new(),
            equal: Equalities::of(program),
            inputs: Vec::new(),
            open: Vec::new(),
            update_from: None,
            now: 0,
            stats: RunStats::default(),
        }
    }

    /// Checks that the backend has all operators, and names all that it lacks.
    fn kernels(&self) -> Result<(), PlanError> {
        let operators = self.live.iter().map(|at| &self.program.block(at.0).ops[at.1]);
        let mut missing = operators.filter(|operator| match &operator.op {
            Op::For(_)
            | Op::GatherRows(_)
            | Op::If(_)
            | Op::LoopGrad(_)
            | Op::ScatterRows(_)
            | Op::While(_) => false,
            op => Side::of(self.backend, op).is_none(),
        });
        let Some(first) = missing.next() else {
            return Ok(());
        };
        let mut others: BTreeSet<&str> = missing.map(|operator| operator.op.operation().called()).collect();
        others.remove(first.op.operation().called());
        let mut message = match &first.op {
            Op::Custom(_) => Custom::NOT_LINKED.to_string(),
            _ => "it has no kernel".to_string(),
        };
        if !others.is_empty() {
            let others: Vec<String> = others.into_iter().map(|name| format!("`{name}`")).collect();
            message += &format!(", nor have {}", others.join(", "));
        }
        Err(self.unsupported(first, message))
    }

    fn inputs(&mut self) -> Result<(), PlanError> {
        let program = self.program;
        for &var in program.inputs() {
            let ty = program.ty(var);
            let used = self.readers.contains_key(&var) || self.escapes(var);
            let slot = if used { Some(self.define(var)?) } else { None };
            self.inputs.push(Input {
                slot,
                name: program.var(var).name.clone(),
                shown: program.show(ty),
                dtype: ty.dtype,
                shape: program.shape(ty),
                scalar: ty.is_scalar(),
                has_rows: ty.rows.is_some(),
                sequences: Vec::new(),
            });
        }
        Ok(())
    }

    /// What has to be done with sequences that are fed.
    fn fed_sequences(&mut self) -> Result<Vec<Instruction<Kernel<B>>>, PlanError> {
        let program = self.program;
        let mut code = Vec::new();
        // The outer sequences come before those that are their tokens.
        let fed = program.inputs().iter().flat_map(|&input| program.levels(program.ty(input)));
        let fed: BTreeSet<RowsId> = fed.collect();
        for rows in fed.into_iter().filter(|&rows| program.row_space(rows).origin == RowOrigin::Tokens) {
            self.sort(rows, Program::GLOBAL, &mut code)?;
        }
        Ok(code)
    }

    /// Whether the value is read other than by an operator.
    fn escapes(&self, var: VarId) -> bool {
        self.kept.contains(&var) || self.results.contains_key(&var)
    }

    /// Lowers a block to code of its own and returns its number.
    fn nested(&mut self, id: BlockId) -> Result<usize, PlanError> {
        let code = self.block(id)?;
        self.code.push(code);
        Ok(self.code.len() - 1)
    }

    fn block(&mut self, id: BlockId) -> Result<Vec<Instruction<Kernel<B>>>, PlanError> {
        let program = self.program;
        let block = program.block(id);
        let mut code = Vec::new();
        if let Some(rows) = block.rows {
            self.take(rows, id, None, &mut code, &mut Vec::new())?;
        }
        for unit in schedule(self.backend, program, id, &self.live, self.numbers) {
            self.now += 1;
            let operator = &block.ops[unit.operators[0]];
            // Operators of a block are a part of what owns it.
            let updates = id == Program::GLOBAL && operator.site.role == Role::Optimize;
            if updates && self.update_from.is_none() {
                self.update_from = Some(code.len());
            }
            match &operator.op {
                Op::If(_) => code.push(self.conditional(operator)?),
                Op::For(op) => code.push(self.for_loop(operator, op.items)?),
                Op::While(op) => {
                    code.push(self.while_loop(operator, op.limit)?);
                    for tokens in operator.op.operation().makes(program, operator) {
                        self.sort(tokens, id, &mut code)?;
                    }
                }
                Op::LoopGrad(op) => code.push(self.loop_grad(operator, op)?),
                Op::SequenceRange(op) => {
                    code.push(self.make(operator, op.rows, id)?);
                    self.launch(id, &unit, &mut code)?;
                    self.sort(op.rows, id, &mut code)?;
                }
                Op::GatherRows(op) if !self.prepared.contains(&operator.outputs[0]) => {
                    let from = self.read(operator.inputs[0])?;
                    let space = self.need_space(Some(op.rows))?;
                    let to = self.define(operator.outputs[0])?;
                    code.push(self.gather(space, from, to)?);
                }
                Op::GatherRows(_) => {}
                Op::ScatterRows(_) => {
                    let from = self.read(operator.inputs[0])?;
                    let space = self.need_space(program.ty(operator.inputs[0]).rows)?;
                    let to = self.define(operator.outputs[0])?;
                    code.push(self.scatter(space, from, to)?);
                }
                _ => self.launch(id, &unit, &mut code)?,
            }
        }
        Ok(code)
    }

    fn unsupported(&self, operator: &Operator, message: String) -> PlanError {
        PlanError::Unsupported {
            operator: self.program.called(operator).to_string(),
            backend: self.backend.name(),
            place: operator.site.place.map(|place| self.program.locate(place)),
            message,
        }
    }

    fn origin(&self, operator: &Operator) -> Origin {
        let names = vec![self.program.called(operator).to_string()];
        Origin::Operators(Operators { names, place: operator.site.place })
    }

    fn finish(mut self, mut code: Vec<Instruction<Kernel<B>>>) -> Result<Plan<Kernel<B>>, PlanError> {
        let program = self.program;
        self.now += 1;
        let mut outputs = Vec::with_capacity(program.outputs().len());
        for &var in program.outputs() {
            let mut slot = self.read(var)?;
            if let Home::Parameter(..) | Home::State(..) = self.slots[slot.0].home {
                // The caller has them again when outputs are fetched.
                let to = self.slot_like(var, Home::Pool);
                code.push(self.copy(slot, to)?);
                slot = to;
            }
            let ty = program.ty(var);
            let offsets: Vec<SlotId> =
                program.levels(ty).into_iter().map(|rows| self.offsets(rows)).collect::<Result<_, _>>()?;
            for &offsets in &offsets {
                if !self.grows(offsets) {
                    self.slots[offsets.0].home = Home::Pool;
                }
            }
            outputs.push(Output { slot, dtype: ty.dtype, offsets });
        }
        for (input, &var) in self.inputs.iter_mut().zip(program.inputs()) {
            let sequences = program.levels(program.ty(var)).into_iter().filter_map(|rows| {
                let space = program.row_space(rows);
                let count = program.row_space(space.parent?).size;
                Some(Sequences { tokens: space.size, count, offsets: self.offsets_of.get(&rows).copied() })
            });
            input.sequences = sequences.collect();
        }
        let update_from = self.update_from.unwrap_or(code.len());
        let kept = self.kept_values()?;
        self.code[0] = code;
        let mut extents_of = vec![Vec::new(); program.symbols().len()];
        for (at, extent) in self.extents.iter().enumerate() {
            for symbol in extent.symbols() {
                extents_of[symbol.0 as usize].push(at);
            }
        }
        let mut fed: BTreeSet<SymbolId> =
            self.inputs.iter().flat_map(|input| &input.shape).filter_map(Dim::as_symbol).collect();
        fed.extend(self.inputs.iter().flat_map(|input| &input.sequences).map(|sequences| sequences.count));
        let checked = program.checks().iter().flat_map(|check| check.condition.symbols());
        for symbol in self.extents.iter().flat_map(Dim::symbols).chain(checked) {
            let Symbol { name, outside } = &program.symbols()[symbol.0 as usize];
            let is_bound = self.is_known_late(symbol)
                || self.bounds[symbol.0 as usize].is_some()
                || fed.contains(&symbol);
            if *outside || !is_bound {
                return Err(PlanError::UnboundSize { symbol: name.clone(), outside: *outside });
            }
        }
        Ok(Plan {
            code: self.code,
            update_from,
            kept,
            origins: self.origins,
            slots: self.slots,
            spaces: self.spaces,
            orders: self.orders,
            taken: self.taken,
            loops: self.loops,
            lanes: self.lanes,
            grown: self.grown,
            made: self.made,
            extents: self.extents,
            extents_of,
            bounds: self.bounds,
            symbols: program.symbols().iter().map(|symbol| symbol.name.clone()).collect(),
            inputs: self.inputs,
            checks: program.checks().to_vec(),
            outputs,
            files: program.files().to_vec(),
            numbers: self.numbers,
            stats: self.stats,
        })
    }
}

impl<B: Backend> Lowering<'_, B> {
    /// Copies of parameters and states that are changed before the update, by which a run that fails takes them back.
    fn kept_values(&mut self) -> Result<Vec<Kept<Kernel<B>>>, PlanError> {
        let program = self.program;
        let changed: BTreeSet<VarId> = changed_in_use(program).collect();
        let mut kept = Vec::new();
        for var in changed {
            if let Some(&from) = self.slot_of.get(&var)
                && matches!(self.slots[from.0].home, Home::Parameter(..) | Home::State(..))
            {
                let home = match self.slots[from.0].home.side() {
                    Side::Own => Home::Arena,
                    Side::Fallback => Home::Staging,
                };
                let to = self.slot_like(var, home);
                self.slots[to.0].life = (0, self.now);
                let (from, to) = (self.whole(from), self.whole(to));
                let save =
                    self.launch_move(Move::Copy, std::slice::from_ref(&from), std::slice::from_ref(&to))?;
                kept.push(Kept { save, restore: self.launch_move(Move::Copy, &[to], &[from])? });
            }
        }
        Ok(kept)
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
