//! Lowering: a program becomes instructions over slots, with the lifetime of every slot.

use std::collections::{BTreeMap, BTreeSet};

use super::backend::{Backend, Extent, Group, GroupOp, Layout, Operand};
use super::code::{
    Copy, Home, IfCode, Input, Instruction, JoinCode, LoopId, LoopInfo, Origin, Output, Plan, Slot, SlotId,
    Space, WhileCode, WhileGradCode,
};
use super::error::PlanError;
use super::fuse::{is_constant, units};
use super::live::{At, live};
use super::storage::{Storage, stream};
use crate::ops::{Fill, If, Op};
use crate::program::{BlockId, Definition, Dim, Operator, Program, Role, RowsId, SymbolId, VarId};

/// Plans a program for a backend.
pub(super) fn lower<B: Backend>(
    backend: &B,
    program: &Program,
    storage: &Storage,
) -> Result<Plan<B::Kernel>, PlanError> {
    program.verify()?;
    let mut lowering = Lowering::new(backend, program, storage);
    lowering.inputs()?;
    let code = lowering.block(Program::GLOBAL)?;
    lowering.finish(code)
}

/// An operand's use inside loops that began after its value: the value lives to the end of the outermost one.
struct OpenLoop {
    start: usize,
    /// Slots to keep to the end.
    held: BTreeSet<SlotId>,
}

struct Lowering<'a, B: Backend> {
    backend: &'a B,
    program: &'a Program,
    storage: &'a Storage,
    live: BTreeSet<At>,
    /// Live operators that read a value.
    readers: BTreeMap<VarId, Vec<At>>,
    /// Values that are read other than by an operator: results, outputs, gradients.
    escapes: BTreeSet<VarId>,
    /// The operator that owns a block.
    owners: BTreeMap<BlockId, At>,
    /// Bodies of loops whose gradient runs.
    recorded: BTreeMap<BlockId, LoopId>,
    /// Those whose gradient has been lowered.
    unwound: BTreeSet<LoopId>,
    code: Vec<Vec<Instruction<B::Kernel>>>,
    slots: Vec<Slot>,
    slot_of: BTreeMap<VarId, SlotId>,
    spaces: Vec<Space>,
    space_of: BTreeMap<RowsId, usize>,
    loops: Vec<LoopInfo>,
    extents: Vec<Dim>,
    inputs: Vec<Input>,
    open: Vec<OpenLoop>,
    /// The first instruction of the global block that updates.
    update_from: Option<usize>,
    /// Counts instructions through all blocks.
    now: usize,
}

impl<'a, B: Backend> Lowering<'a, B> {
    fn new(backend: &'a B, program: &'a Program, storage: &'a Storage) -> Self {
        let live = live(program);
        let mut readers: BTreeMap<VarId, Vec<At>> = BTreeMap::new();
        let mut owners = BTreeMap::new();
        let mut escapes: BTreeSet<VarId> = program.gradients().iter().map(|pair| pair.gradient).collect();
        let mut differentiated = BTreeSet::new();
        escapes.extend(program.outputs());
        for &at in &live {
            let operator = &program.block(at.0).ops[at.1];
            for &input in &operator.inputs {
                readers.entry(input).or_default().push(at);
            }
            for &block in &operator.blocks {
                owners.insert(block, at);
                escapes.extend(&program.block(block).results);
                differentiated.extend(program.block(block).forward);
            }
        }
        // Bodies of loops have parameters; branches have none.
        let is_body = |block: &BlockId| matches!(owners.get(block), Some(at) if is_loop(program, *at));
        let bodies: Vec<BlockId> = differentiated.into_iter().filter(is_body).collect();
        let recorded: BTreeMap<_, _> =
            bodies.iter().enumerate().map(|(i, &block)| (block, LoopId(i))).collect();
        Lowering {
            backend,
            program,
            storage,
            live,
            readers,
            escapes,
            owners,
            loops: vec![LoopInfo::default(); recorded.len()],
            recorded,
            unwound: BTreeSet::new(),
            code: vec![Vec::new()],
            slots: Vec::new(),
            slot_of: BTreeMap::new(),
            spaces: Vec::new(),
            space_of: BTreeMap::new(),
            extents: Vec::new(),
            inputs: Vec::new(),
            open: Vec::new(),
            update_from: None,
            now: 0,
        }
    }

    fn inputs(&mut self) -> Result<(), PlanError> {
        let program = self.program;
        for &var in program.inputs() {
            let ty = program.ty(var);
            let used = self.readers.contains_key(&var) || self.escapes.contains(&var);
            let slot = if used { Some(self.define(var)?) } else { None };
            self.inputs.push(Input {
                slot,
                name: program.var(var).name.clone(),
                shown: program.show(ty),
                dtype: ty.dtype,
                shape: program.shape(ty),
                scalar: ty.is_scalar(),
            });
        }
        Ok(())
    }

    fn extent(&mut self, dim: &Dim) -> Extent {
        match dim.constant().and_then(|size| usize::try_from(size).ok()) {
            Some(size) => Extent::Fixed(size),
            None => {
                let at = self.extents.iter().position(|known| known == dim).unwrap_or_else(|| {
                    self.extents.push(dim.clone());
                    self.extents.len() - 1
                });
                Extent::Bound(at)
            }
        }
    }

    fn layout(&mut self, var: VarId) -> Layout {
        let ty = self.program.ty(var);
        let shape = self.program.shape(ty).iter().map(|dim| self.extent(dim)).collect();
        Layout { dtype: ty.dtype, shape }
    }

    fn add_slot(&mut self, slot: Slot) -> SlotId {
        self.slots.push(slot);
        SlotId(self.slots.len() - 1)
    }

    /// A slot of a value's type that begins to live now.
    fn slot_like(&mut self, var: VarId, home: Home) -> SlotId {
        let Layout { dtype, shape } = self.layout(var);
        let (name, element_bytes) = (self.program.var(var).name.clone(), self.backend.element_bytes(dtype));
        let life = (self.now, self.now);
        self.add_slot(Slot { name, shape, element_bytes, dtype: Some(dtype), home, life })
    }

    /// Gives a value its slot.
    fn define(&mut self, var: VarId) -> Result<SlotId, PlanError> {
        let value = self.program.var(var);
        let home = match value.definition {
            Definition::Parameter => Home::Parameter(self.storage.locate(self.program, var)?.offset),
            Definition::Input | Definition::BlockParameter | Definition::Operator => {
                if value.block == Program::GLOBAL && self.is_kept(var) {
                    Home::Pool
                } else if self.is_saved(var) {
                    match self.recorded_around(value.block) {
                        Some(around) => Home::Frame(around),
                        None => Home::Arena,
                    }
                } else {
                    Home::Arena
                }
            }
        };
        let slot = self.slot_like(var, home);
        self.slot_of.insert(var, slot);
        Ok(slot)
    }

    /// Whether the value leaves the run.
    fn is_kept(&self, var: VarId) -> bool {
        let gradient = self.program.gradients().iter().any(|pair| pair.gradient == var);
        gradient || self.program.outputs().contains(&var)
    }

    /// Whether a gradient block reads the value from the forward block that defines it.
    fn is_saved(&self, var: VarId) -> bool {
        let defined_in = self.program.var(var).block;
        let reads = self.readers.get(&var).into_iter().flatten().map(|at| at.0);
        let results =
            self.owners.keys().copied().filter(|&block| self.program.block(block).results.contains(&var));
        reads.chain(results).any(|block| !self.is_below(block, defined_in))
    }

    /// Whether `block` is `outer` or inside of it.
    fn is_below(&self, block: BlockId, outer: BlockId) -> bool {
        let mut at = Some(block);
        while let Some(id) = at {
            if id == outer {
                return true;
            }
            at = self.program.block(id).parent;
        }
        false
    }

    /// The innermost recorded loop whose body `block` is in.
    fn recorded_around(&self, block: BlockId) -> Option<LoopId> {
        let mut at = Some(block);
        while let Some(id) = at {
            if let Some(&found) = self.recorded.get(&id) {
                return Some(found);
            }
            at = self.program.block(id).parent;
        }
        None
    }

    /// The slot of a value that is read now.
    fn read(&mut self, var: VarId) -> Result<SlotId, PlanError> {
        let slot = match self.slot_of.get(&var) {
            Some(&slot) => slot,
            None => self.define(var)?,
        };
        self.touch(slot);
        Ok(slot)
    }

    /// Keeps a slot alive to here, and through every loop that began after it.
    fn touch(&mut self, slot: SlotId) {
        let life = &mut self.slots[slot.0].life;
        life.1 = life.1.max(self.now);
        let born = life.0;
        if let Some(outermost) = self.open.iter_mut().find(|open| open.start > born) {
            outermost.held.insert(slot);
        }
    }

    fn begin_loop(&mut self) {
        self.now += 1;
        self.open.push(OpenLoop { start: self.now, held: BTreeSet::new() });
    }

    fn end_loop(&mut self) {
        self.now += 1;
        if let Some(open) = self.open.pop() {
            for slot in open.held {
                let life = &mut self.slots[slot.0].life;
                life.1 = life.1.max(self.now);
            }
        }
    }

    /// Lowers a block to code of its own and returns its number.
    fn nested(&mut self, id: BlockId) -> Result<usize, PlanError> {
        let code = self.block(id)?;
        self.code.push(code);
        Ok(self.code.len() - 1)
    }

    fn block(&mut self, id: BlockId) -> Result<Vec<Instruction<B::Kernel>>, PlanError> {
        let program = self.program;
        let block = program.block(id);
        let mut code = Vec::new();
        for unit in units(program, id, &self.live) {
            self.now += 1;
            let operator = &block.ops[unit[0]];
            if operator.site.role == Role::Optimize && self.update_from.is_none() {
                self.update_from = Some(code.len());
            }
            match &operator.op {
                Op::If(_) => code.push(self.conditional(operator)?),
                Op::While(op) => code.push(self.while_loop(operator, op.limit)?),
                Op::WhileGrad(_) => code.push(self.while_grad(operator)?),
                Op::GatherRows(_) => {
                    let from = self.read(operator.inputs[0])?;
                    let rows = program.ty(operator.outputs[0]).rows;
                    let Some(&space) = rows.and_then(|rows| self.space_of.get(&rows)) else {
                        return Err(self.unsupported(operator, "its rows are chosen by no branch".into()));
                    };
                    self.touch(self.spaces[space].index);
                    let to = self.define(operator.outputs[0])?;
                    code.push(Instruction::Gather { space, from, to });
                }
                _ => code.extend(self.launch(id, &unit)?),
            }
        }
        Ok(code)
    }

    fn unsupported(&self, operator: &Operator, message: String) -> PlanError {
        PlanError::Unsupported {
            operator: operator.op.name().to_string(),
            backend: self.backend.name(),
            place: operator.site.place.map(|place| self.program.locate(place)),
            message,
        }
    }

    fn origin(&self, operator: &Operator) -> Origin {
        Origin { operator: operator.op.name(), place: operator.site.place }
    }

    /// Compiles a group. None if it is a constant that only groups with their own copy read.
    fn launch(&mut self, id: BlockId, unit: &[usize]) -> Result<Option<Instruction<B::Kernel>>, PlanError> {
        let program = self.program;
        let block = program.block(id);
        let first = &block.ops[unit[0]];
        let fused = first.op.effects().element_wise;
        let mut group = Group {
            ops: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            temporaries: Vec::new(),
            stream: first.outputs.first().map_or(0, |output| stream(&program.var(*output).name)),
        };
        let mut known: BTreeMap<VarId, Operand> = BTreeMap::new();
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for &i in unit {
            let operator = &block.ops[i];
            if !self.backend.supports(&operator.op) {
                return Err(self.unsupported(operator, "it has no kernel".into()));
            }
            let mut reads = Vec::with_capacity(operator.inputs.len());
            for &input in &operator.inputs {
                let operand = match known.get(&input) {
                    Some(&operand) => operand,
                    None => match self.constant(input).filter(|_| fused) {
                        Some(fill) => {
                            let ty = program.ty(operator.outputs[0]).with_dtype(fill.ty.dtype);
                            let layout = Layout { dtype: ty.dtype, ..self.layout(operator.outputs[0]) };
                            group.temporaries.push(layout);
                            let operand = Operand::Temporary(group.temporaries.len() - 1);
                            let op = Fill { value: fill.value, ty }.into();
                            group.ops.push(GroupOp { op, inputs: Vec::new(), outputs: vec![operand] });
                            operand
                        }
                        None => {
                            inputs.push(input);
                            group.inputs.push(self.layout(input));
                            Operand::Input(inputs.len() - 1)
                        }
                    },
                };
                known.insert(input, operand);
                reads.push(operand);
            }
            let mut writes = Vec::with_capacity(operator.outputs.len());
            for &output in &operator.outputs {
                let layout = self.layout(output);
                let operand = if !fused || self.leaves(output, id, unit) {
                    outputs.push(output);
                    group.outputs.push(layout);
                    Operand::Output(outputs.len() - 1)
                } else {
                    group.temporaries.push(layout);
                    Operand::Temporary(group.temporaries.len() - 1)
                };
                known.insert(output, operand);
                writes.push(operand);
            }
            group.ops.push(GroupOp { op: operator.op.clone(), inputs: reads, outputs: writes });
        }
        if outputs.is_empty() && !first.op.effects().state {
            return Ok(None);
        }
        let kernel = self.backend.compile(&group).map_err(|error| self.unsupported(first, error.message))?;
        let mut operands = Vec::with_capacity(inputs.len() + outputs.len());
        for input in inputs {
            operands.push(self.read(input)?);
        }
        for output in outputs {
            operands.push(self.define(output)?);
        }
        Ok(Some(Instruction::Launch { kernel, operands, origin: self.origin(first) }))
    }

    /// The operator that makes the value, if it is a constant.
    fn constant(&self, var: VarId) -> Option<&'a Fill> {
        let value = self.program.var(var);
        let mut operators = self.program.block(value.block).ops.iter();
        match &operators.find(|operator| operator.outputs.contains(&var) && is_constant(operator))?.op {
            Op::Fill(fill) => Some(fill),
            _ => None,
        }
    }

    /// Whether a value of a unit is read outside of it.
    fn leaves(&self, var: VarId, id: BlockId, unit: &[usize]) -> bool {
        let constant = self.constant(var).is_some();
        let readers = self.readers.get(&var).into_iter().flatten();
        let inside = |at: &At| {
            let reader = &self.program.block(at.0).ops[at.1];
            (constant && reader.op.effects().element_wise) || (at.0 == id && unit.contains(&at.1))
        };
        self.escapes.contains(&var) || readers.into_iter().any(|at| !inside(at))
    }

    fn conditional(&mut self, operator: &Operator) -> Result<Instruction<B::Kernel>, PlanError> {
        let program = self.program;
        let condition = self.read(operator.inputs[0])?;
        let rows = self.slots[condition.0].shape.first().copied().unwrap_or(Extent::Fixed(1));
        let &[yes, no] = &operator.blocks[..] else {
            return Err(self.unsupported(operator, "it does not have two blocks".into()));
        };
        let splits = program.block(yes).forward.is_none();
        let spaces = match (program.block(yes).rows, program.block(no).rows) {
            (Some(yes), Some(no)) => {
                Some([self.space(yes, rows, operator)?, self.space(no, rows, operator)?])
            }
            _ => None,
        };
        let branches = [self.nested(yes)?, self.nested(no)?];
        self.now += 1;
        for space in spaces.into_iter().flatten() {
            self.touch(self.spaces[space].index);
        }
        let mut joins = Vec::with_capacity(operator.outputs.len());
        for (k, &output) in operator.outputs.iter().enumerate() {
            let result = |block: BlockId| program.block(block).results[k];
            let join = If::join(program.block(yes).rows, program.ty(result(yes)));
            let from = [self.read(result(yes))?, self.read(result(no))?];
            joins.push(JoinCode { join, from, to: self.define(output)? });
        }
        Ok(Instruction::If(Box::new(IfCode { condition, spaces, splits, rows, branches, joins })))
    }

    /// The space of a row space; on first sight with a slot for the row numbers.
    fn space(&mut self, rows: RowsId, parent: Extent, operator: &Operator) -> Result<usize, PlanError> {
        if let Some(&space) = self.space_of.get(&rows) {
            self.touch(self.spaces[space].index);
            return Ok(space);
        }
        let around = operator.blocks.first().and_then(|&block| self.recorded_around(block));
        let slot = Slot {
            name: format!("row numbers of {}", self.program.row_space(rows).name),
            shape: vec![parent],
            element_bytes: size_of::<u32>(),
            dtype: None,
            home: around.map_or(Home::Arena, Home::Frame),
            life: (self.now, self.now),
        };
        let (index, size) = (self.add_slot(slot), self.program.row_space(rows).size);
        self.spaces.push(Space { size, index });
        self.space_of.insert(rows, self.spaces.len() - 1);
        if let Some(around) = around {
            self.loops[around.0].sizes.push(size);
        }
        Ok(self.spaces.len() - 1)
    }

    fn while_loop(&mut self, operator: &Operator, limit: i64) -> Result<Instruction<B::Kernel>, PlanError> {
        let program = self.program;
        let &[condition_block, body_block] = &operator.blocks[..] else {
            return Err(self.unsupported(operator, "it does not have two blocks".into()));
        };
        let recorded = self.recorded.get(&body_block).copied();
        if let (Some(inner), Some(around)) = (recorded, self.recorded_around_parent(body_block)) {
            self.loops[around.0].inner.push(inner);
        }
        let enter = self.enter(&operator.inputs, &operator.outputs)?;
        self.begin_loop();
        let states: Vec<SlotId> = enter.iter().map(|copy| copy.to).collect();
        for (k, &param) in program.block(condition_block).params.iter().enumerate() {
            self.slot_of.insert(param, states[k]);
        }
        let condition = self.nested(condition_block)?;
        let holds = self.read(program.block(condition_block).results[0])?;
        let mut save = Vec::new();
        for (k, &param) in program.block(body_block).params.iter().enumerate() {
            if recorded.is_some() && self.is_saved(param) {
                save.push(Copy { from: states[k], to: self.define(param)? });
            } else {
                self.slot_of.insert(param, states[k]);
            }
        }
        let body = self.nested(body_block)?;
        self.now += 1;
        let advance = self.advance(&program.block(body_block).results, &states)?;
        for &state in &states {
            self.touch(state);
        }
        self.end_loop();
        for &state in &states {
            self.touch(state);
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let origin = self.origin(operator);
        let code = WhileCode { limit, origin, condition, holds, body, enter, save, advance, recorded };
        Ok(Instruction::While(Box::new(code)))
    }

    /// Copies of what comes in to the slots of what comes out, which hold the state of a loop.
    fn enter(&mut self, from: &[VarId], to: &[VarId]) -> Result<Vec<Copy>, PlanError> {
        let from = from.iter().map(|&var| self.read(var)).collect::<Result<Vec<_>, _>>()?;
        let to = to.iter().map(|&var| self.define(var)).collect::<Result<Vec<_>, _>>()?;
        Ok(from.into_iter().zip(to).map(|(from, to)| Copy { from, to }).collect())
    }

    /// Copies of results to the state, all at once: a result that is itself a part of the state goes by a detour.
    fn advance(&mut self, results: &[VarId], states: &[SlotId]) -> Result<Vec<Copy>, PlanError> {
        let (mut detours, mut copies) = (Vec::new(), Vec::new());
        for (&result, &state) in results.iter().zip(states) {
            let mut from = self.read(result)?;
            if from == state {
                continue;
            }
            if states.contains(&from) {
                let detour = self.slot_like(result, Home::Arena);
                detours.push(Copy { from, to: detour });
                from = detour;
            }
            copies.push(Copy { from, to: state });
        }
        detours.extend(copies);
        Ok(detours)
    }

    fn recorded_around_parent(&self, block: BlockId) -> Option<LoopId> {
        self.program.block(block).parent.and_then(|parent| self.recorded_around(parent))
    }

    fn while_grad(&mut self, operator: &Operator) -> Result<Instruction<B::Kernel>, PlanError> {
        let program = self.program;
        let block = program.block(operator.blocks[0]);
        let Some(&recorded) = block.forward.and_then(|forward| self.recorded.get(&forward)) else {
            return Err(self.unsupported(operator, "the loop that it differentiates is not run".into()));
        };
        if !self.unwound.insert(recorded) {
            return Err(
                self.unsupported(operator, "the tape of a loop unwinds once, for one gradient".into())
            );
        }
        let (states, sums) = operator.outputs.split_at(operator.inputs.len());
        let enter = self.enter(&operator.inputs, states)?;
        let totals = sums.iter().map(|&var| self.define(var)).collect::<Result<Vec<_>, _>>()?;
        self.begin_loop();
        let states: Vec<SlotId> = enter.iter().map(|copy| copy.to).collect();
        for (k, &param) in block.params.iter().enumerate() {
            self.slot_of.insert(param, states[k]);
        }
        let body = self.nested(operator.blocks[0])?;
        self.now += 1;
        let (next, added) = block.results.split_at(states.len());
        let mut sums = Vec::with_capacity(totals.len());
        for (&result, &to) in added.iter().zip(&totals) {
            sums.push(Copy { from: self.read(result)?, to });
        }
        let advance = self.advance(next, &states)?;
        for &slot in states.iter().chain(&totals) {
            self.touch(slot);
        }
        self.end_loop();
        for &slot in states.iter().chain(&totals) {
            self.touch(slot);
        }
        Ok(Instruction::WhileGrad(Box::new(WhileGradCode { recorded, body, enter, advance, sums })))
    }

    fn finish(mut self, mut code: Vec<Instruction<B::Kernel>>) -> Result<Plan<B::Kernel>, PlanError> {
        let program = self.program;
        self.now += 1;
        let mut outputs = Vec::with_capacity(program.outputs().len());
        for &var in program.outputs() {
            let mut slot = self.read(var)?;
            if let Home::Parameter(_) = self.slots[slot.0].home {
                // The caller has the parameters again when outputs are fetched.
                let to = self.slot_like(var, Home::Pool);
                code.push(Instruction::Copy(Copy { from: slot, to }));
                slot = to;
            }
            outputs.push(Output { slot, dtype: program.ty(var).dtype });
        }
        let update_from = self.update_from.unwrap_or(code.len());
        self.code[0] = code;
        let mut extents_of = vec![Vec::new(); program.symbols().len()];
        for (at, extent) in self.extents.iter().enumerate() {
            for symbol in extent.symbols() {
                extents_of[symbol.0 as usize].push(at);
            }
        }
        let mut bounds = vec![None; program.symbols().len()];
        for rows in program.row_spaces() {
            bounds[rows.size.0 as usize] = rows.parent.map(|parent| program.row_space(parent).size);
        }
        let fed: BTreeSet<SymbolId> =
            self.inputs.iter().flat_map(|input| &input.shape).filter_map(Dim::as_symbol).collect();
        for symbol in self.extents.iter().flat_map(Dim::symbols) {
            if bounds[symbol.0 as usize].is_none() && !fed.contains(&symbol) {
                let symbol = program.symbols()[symbol.0 as usize].name.clone();
                return Err(PlanError::UnboundSize { symbol });
            }
        }
        Ok(Plan {
            code: self.code,
            update_from,
            slots: self.slots,
            spaces: self.spaces,
            loops: self.loops,
            extents: self.extents,
            extents_of,
            bounds,
            symbols: program.symbols().iter().map(|symbol| symbol.name.clone()).collect(),
            inputs: self.inputs,
            outputs,
            files: program.files().to_vec(),
        })
    }
}

/// Whether the operator runs its blocks repeatedly.
fn is_loop(program: &Program, at: At) -> bool {
    matches!(program.block(at.0).ops[at.1].op, Op::While(_))
}
