//! Lowering: turns a program into instructions over slots, and finds the lifetime of every slot.

mod control;
mod exchange;
mod group;
mod loops;
mod moves;
mod slots;
mod spaces;
mod unwind;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use self::slots::OpenLoop;
use super::arithmetic::{Arithmetic, Precision};
use super::arrange::{Arrangement, preferred};
use super::backend::{Backend, Move, Side};
use super::code::{
    Backup, Home, Input, Instruction, Kernel, Lane, LaunchWork, LoopId, LoopInfo, Operators, Order, Origin,
    Output, Plan, Sequences, Slot, SlotId, Space, TakenSequences,
};
use super::error::PlanError;
use super::facts::{Facts, is_update};
use super::numbers::Numbers;
use super::schedule::schedule;
use super::stats::RunStats;
use super::storage::{Storage, changed_in_use};
use crate::ops::{Custom, Op, Operator, Program};
use crate::passes::Switches;
use crate::program::{BlockId, Condition, DType, Dim, RowOrigin, RowsId, Site, Symbol, SymbolId, VarId};

/// Plans a program for a backend.
pub(super) fn lower<B: Backend>(
    backend: &B,
    program: &Program,
    storage: &Storage,
    states: &Storage,
    arithmetic: Arithmetic,
) -> Result<Plan<Kernel<B>>, PlanError> {
    program.verify()?;
    // Where each operator's numbers are checked, each operator is a launch, as the program has it.
    let switches =
        if arithmetic.numbers == Numbers::Any { Switches::from_environment()? } else { Switches::NONE };
    let mut lowering = Lowering::new(backend, program, [storage, states], arithmetic, switches);
    lowering.check_precision()?;
    lowering.check_supported()?;
    lowering.inputs()?;
    let prepare = lowering.prepare()?;
    let mut code = lowering.fed_sequences()?;
    code.extend(lowering.block(Program::GLOBAL)?);
    lowering.finish(prepare, code)
}

/// The program, and the parts of its plan so far.
struct Lowering<'a, B: Backend> {
    backend: &'a B,
    program: &'a Program,
    storage: &'a Storage,
    states: &'a Storage,
    arithmetic: Arithmetic,
    switches: Switches,
    facts: Facts,
    arrangement: Arrangement,
    memory: Places,
    rows: RowSpaces,
    loops: Vec<LoopInfo>,
    /// Loops whose gradient has been lowered.
    unwound: BTreeSet<LoopId>,
    /// Loops around the current instruction, the outermost first.
    open: Vec<OpenLoop>,
    code: Vec<Vec<Instruction<Kernel<B>>>>,
    /// The origins of the launches, by their numbers.
    origins: Vec<Origin>,
    /// The work of the launches, by their numbers.
    work: Vec<LaunchWork>,
    /// The operands of all launches.
    operands: Vec<SlotId>,
    inputs: Vec<Input>,
    /// The first instruction of the global block that belongs to the update.
    update_from: Option<usize>,
    /// The number of the current instruction, counted through all blocks.
    now: usize,
    /// The counters of the products that were lowered.
    stats: RunStats,
}

/// The slots of values, the lanes and the sizes.
#[derive(Default)]
struct Places {
    slots: Vec<Slot>,
    slot_of: BTreeMap<VarId, SlotId>,
    /// For values, their copies in another layout that the instructions so far have made.
    arranged: BTreeMap<VarId, SlotId>,
    /// The slots that values get when they are defined, if they are chosen before.
    assigned: BTreeMap<VarId, SlotId>,
    /// The values that a `for` has gathered for all its rows in front of the loop.
    gathered_ahead: BTreeSet<VarId>,
    lanes: Vec<Lane>,
    /// Every size that an instruction needs.
    extents: Vec<Dim>,
}

/// The row spaces that arise during a run, and the sequences in them.
#[derive(Default)]
struct RowSpaces {
    spaces: Vec<Space>,
    space_of: BTreeMap<RowsId, usize>,
    orders: Vec<Order>,
    /// The order of sequences, by the steps of the loop along them.
    order_of: BTreeMap<RowsId, usize>,
    taken: Vec<TakenSequences>,
    taken_of: BTreeMap<RowsId, usize>,
    /// For the tokens of sequences, the slot of the offsets, if an instruction needs them.
    offsets_of: BTreeMap<RowsId, SlotId>,
}

impl<'a, B: Backend> Lowering<'a, B> {
    fn new(
        backend: &'a B,
        program: &'a Program,
        [storage, states]: [&'a Storage; 2],
        arithmetic: Arithmetic,
        switches: Switches,
    ) -> Self {
        let layout = preferred(backend, program, switches);
        let facts = Facts::new(program, &layout, switches);
        Lowering {
            backend,
            program,
            storage,
            states,
            arithmetic,
            switches,
            loops: facts
                .recorded
                .iter()
                .map(|&recorded| LoopInfo { recorded, ..LoopInfo::default() })
                .collect(),
            arrangement: Arrangement::new(backend, program, &facts, layout),
            facts,
            memory: Places::default(),
            rows: RowSpaces::default(),
            unwound: BTreeSet::new(),
            open: Vec::new(),
            code: vec![Vec::new()],
            origins: Vec::new(),
            work: Vec::new(),
            operands: Vec::new(),
            inputs: Vec::new(),
            update_from: None,
            now: 0,
            stats: RunStats::default(),
        }
    }

    /// Errors if the backend or its fallback does not compute in the precision that was asked for.
    fn check_precision(&self) -> Result<(), PlanError> {
        let precision = self.arithmetic.precision;
        let fails = |backend| Err(PlanError::Precision { precision, backend });
        match self.backend.fallback() {
            _ if !self.backend.computes_in(precision) => fails(self.backend.name()),
            Some(fallback) if !fallback.computes_in(precision) => fails(fallback.name()),
            _ => Ok(()),
        }
    }

    /// The precision in which an operator computes: products of `f32` values in that which was asked for.
    fn precision_of(&self, operator: &Operator) -> Precision {
        let of_singles = |&var: &VarId| self.program.ty(var).dtype == DType::F32;
        match operator.op.effects().products && operator.outputs.iter().all(of_singles) {
            true => self.arithmetic.precision,
            false => Precision::F32,
        }
    }

    /// Errors if the backend and its fallback lack an operator. The error names all that they lack.
    fn check_supported(&self) -> Result<(), PlanError> {
        let operators = self.facts.live.iter().map(|at| &self.program.block(at.0).ops[at.1]);
        let mut missing = operators.filter(|operator| match &operator.op {
            Op::For(_)
            | Op::GatherRows(_)
            | Op::If(_)
            | Op::LoopGrad(_)
            | Op::ScatterRows(_)
            | Op::While(_) => false,
            op if op.effects().exchanges => false,
            _ => Side::of(self.backend, self.program, operator).is_none(),
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
            let used = self.facts.readers.contains_key(&var) || self.escapes(var);
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

    /// The instructions that sort the sequences that are fed.
    fn fed_sequences(&mut self) -> Result<Vec<Instruction<Kernel<B>>>, PlanError> {
        let program = self.program;
        let mut code = Vec::new();
        // A set of row spaces is in the order of their creation: outer sequences come before their tokens.
        let fed = program.inputs().iter().flat_map(|&input| program.levels(program.ty(input)));
        let fed: BTreeSet<RowsId> = fed.collect();
        for rows in fed.into_iter().filter(|&rows| program.row_space(rows).origin == RowOrigin::Tokens) {
            self.sort_sequences(rows, Program::GLOBAL, &mut code)?;
        }
        Ok(code)
    }

    /// Whether the value leaves its block: as an output, a gradient or a result.
    fn escapes(&self, var: VarId) -> bool {
        self.facts.kept.contains(&var) || self.facts.results.contains_key(&var)
    }

    /// Lowers a block to code of its own and returns its number.
    fn nested(&mut self, id: BlockId) -> Result<usize, PlanError> {
        let code = self.block(id)?;
        self.code.push(code);
        Ok(self.code.len() - 1)
    }

    /// The instructions that compute the prepared values.
    fn prepare(&mut self) -> Result<Vec<Instruction<Kernel<B>>>, PlanError> {
        let (mut code, id) = (Vec::new(), Program::GLOBAL);
        let prepared = &self.facts.prepared;
        let units = schedule(self.backend, self.program, id, prepared, &self.arrangement, self.switches);
        for unit in units {
            self.now += 1;
            if !self.view(id, &unit)? {
                self.launch(id, &unit, &mut code)?;
            }
        }
        // Copies in other layouts are in memory that runs share for other values.
        self.memory.arranged.clear();
        Ok(code)
    }

    fn block(&mut self, id: BlockId) -> Result<Vec<Instruction<Kernel<B>>>, PlanError> {
        let program = self.program;
        let block = program.block(id);
        let mut code = Vec::new();
        if let Some(rows) = block.rows {
            self.take_sequences(rows, id, None, &mut code, &mut Vec::new())?;
        }
        let live = &self.facts.live - &self.facts.prepared;
        let units = schedule(self.backend, program, id, &live, &self.arrangement, self.switches);
        let arranged = self.memory.arranged.clone();
        for unit in units {
            self.now += 1;
            if self.view(id, &unit)? {
                continue;
            }
            let operator = &block.ops[unit.operators[0]];
            // The operators of an inner block belong to the operator that owns the block.
            let updates = is_update(program, (id, unit.operators[0]));
            if updates && self.update_from.is_none() {
                self.update_from = Some(code.len());
            }
            match &operator.op {
                Op::If(_) => code.push(self.conditional(operator)?),
                Op::For(op) => code.push(self.for_loop(operator, op.items)?),
                Op::While(op) => {
                    code.push(self.while_loop(operator, op.limit)?);
                    for tokens in operator.op.operation().makes(program, operator) {
                        self.sort_sequences(tokens, id, &mut code)?;
                    }
                }
                Op::LoopGrad(op) => code.push(self.loop_grad(operator, op)?),
                Op::SequenceRange(op) => {
                    code.push(self.make_sequences(operator, op.rows, id)?);
                    self.launch(id, &unit, &mut code)?;
                    self.sort_sequences(op.rows, id, &mut code)?;
                }
                Op::GatherRows(op) if !self.memory.gathered_ahead.contains(&operator.outputs[0]) => {
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
                op if op.effects().exchanges => code.push(Instruction::Exchange(self.exchange(operator)?)),
                _ => self.launch(id, &unit, &mut code)?,
            }
        }
        self.memory.arranged = arranged;
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
        let kinds = vec![operator.op.operation().called().to_string()];
        let Site { place, role, .. } = operator.site;
        Origin::Operators(Operators { names, kinds, role, place, precision: Precision::F32 })
    }

    fn finish(
        mut self,
        prepare: Vec<Instruction<Kernel<B>>>,
        mut code: Vec<Instruction<Kernel<B>>>,
    ) -> Result<Plan<Kernel<B>>, PlanError> {
        let program = self.program;
        self.now += 1;
        let mut outputs = Vec::with_capacity(program.outputs().len());
        for &var in program.outputs() {
            let mut slot = self.read(var)?;
            if let Home::Parameter(..) | Home::State(..) = self.memory.slots[slot.0].home {
                // The caller fetches outputs when the run is over, and it no longer lends the buffers of parameters
                // and states.
                let to = self.slot_like(var, Home::Pool);
                code.push(self.copy(slot, to)?);
                slot = to;
            }
            let ty = program.ty(var);
            let offsets: Vec<SlotId> =
                program.levels(ty).into_iter().map(|rows| self.offsets(rows)).collect::<Result<_, _>>()?;
            for &offsets in &offsets {
                if !self.grows(offsets) {
                    self.memory.slots[offsets.0].home = Home::Pool;
                }
            }
            outputs.push(Output { slot, dtype: ty.dtype, offsets });
        }
        for (input, &var) in self.inputs.iter_mut().zip(program.inputs()) {
            let sequences = program.levels(program.ty(var)).into_iter().filter_map(|rows| {
                let space = program.row_space(rows);
                let count = program.row_space(space.parent?).size;
                Some(Sequences {
                    tokens: space.size,
                    count,
                    offsets: self.rows.offsets_of.get(&rows).copied(),
                })
            });
            input.sequences = sequences.collect();
        }
        let update_from = self.update_from.unwrap_or(code.len());
        let forward_until = code.iter().rposition(Instruction::passes_on).map_or(0, |last| last + 1);
        let backups = self.backups()?;
        self.code[0] = code;
        let mut extents_of = vec![Vec::new(); program.symbols().len()];
        for (at, extent) in self.memory.extents.iter().enumerate() {
            for symbol in extent.symbols() {
                extents_of[symbol.0 as usize].push(at);
            }
        }
        let mut fed: BTreeSet<SymbolId> =
            self.inputs.iter().flat_map(|input| &input.shape).filter_map(Dim::as_symbol).collect();
        fed.extend(self.inputs.iter().flat_map(|input| &input.sequences).map(|sequences| sequences.count));
        let fixed = program.row_spaces().iter().filter_map(|space| match space.origin {
            RowOrigin::Fixed(count) => Some((space.size, count as usize)),
            _ => None,
        });
        let fixed: Vec<(SymbolId, usize)> = fixed.collect();
        fed.extend(fixed.iter().map(|(size, _)| size));
        let checked = program.checks().iter().flat_map(|check| check.condition.symbols());
        for symbol in self.memory.extents.iter().flat_map(Dim::symbols).chain(checked) {
            let Symbol { name, outside } = &program.symbols()[symbol.0 as usize];
            let is_bound = self.is_known_late(symbol)
                || self.facts.bounds[symbol.0 as usize].is_some()
                || fed.contains(&symbol);
            if *outside || !is_bound {
                return Err(PlanError::UnboundSize { symbol: name.clone(), outside: *outside });
            }
        }
        let (mut checks, mut late_checks) = (Vec::new(), vec![Vec::new(); program.symbols().len()]);
        for check in program.checks().iter().cloned() {
            let late: Vec<SymbolId> =
                check.condition.symbols().into_iter().filter(|&symbol| self.is_known_late(symbol)).collect();
            // Sizes that have to be equal are one size of the plan, so they are known before a run.
            match (&late[..], &check.condition) {
                (&[size], Condition::Positive(_)) => late_checks[size.0 as usize].push(check),
                _ => checks.push(check),
            }
        }
        Ok(Plan {
            prepare,
            code: self.code,
            update_from,
            forward_until,
            backups,
            origins: self.origins,
            work: self.work,
            moving: {
                let slots = &self.memory.slots;
                self.operands.iter().map(|slot| slots[slot.0].home.is_moving(slots)).collect()
            },
            operands: self.operands,
            slots: self.memory.slots,
            spaces: self.rows.spaces,
            orders: self.rows.orders,
            taken: self.rows.taken,
            loops: self.loops,
            lanes: self.memory.lanes,
            grown: self.facts.grown,
            made: self.facts.made,
            extents: self.memory.extents,
            extents_of,
            bounds: self.facts.bounds,
            fixed,
            symbols: program.symbols().iter().map(|symbol| symbol.name.clone()).collect(),
            inputs: self.inputs,
            checks,
            late_checks,
            outputs,
            files: program.files().to_vec(),
            numbers: self.arithmetic.numbers,
            stats: self.stats,
        })
    }
}

impl<B: Backend> Lowering<'_, B> {
    /// Makes backups of the parameters and states that change before the update.
    fn backups(&mut self) -> Result<Vec<Backup<Kernel<B>>>, PlanError> {
        let program = self.program;
        let changed: BTreeSet<VarId> = changed_in_use(program).collect();
        let mut backups = Vec::new();
        for var in changed {
            if let Some(&from) = self.memory.slot_of.get(&var)
                && matches!(self.memory.slots[from.0].home, Home::Parameter(..) | Home::State(..))
            {
                let home = match self.memory.slots[from.0].home.side() {
                    Side::Own => Home::Arena,
                    Side::Fallback => Home::Staging,
                };
                let to = self.slot_like(var, home);
                self.memory.slots[to.0].life = (0, self.now);
                let (from, to) = (self.operand(from), self.operand(to));
                let save =
                    self.launch_move(Move::Copy, std::slice::from_ref(&from), std::slice::from_ref(&to))?;
                backups.push(Backup { save, restore: self.launch_move(Move::Copy, &[to], &[from])? });
            }
        }
        Ok(backups)
    }
}
