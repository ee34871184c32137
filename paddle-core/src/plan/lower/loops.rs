//! Lowering of loops, and functions that their gradients share.

use super::super::backend::{Backend, Extent, Layout, Move};
use super::super::code::{
    Collected, Home, Instruction, Kernel, LaunchCode, LoopCode, LoopId, LoopKind, Prefix, RowsOfWhile, Slot,
    SlotId,
};
use super::super::error::PlanError;
use super::Lowering;
use crate::ops::{Op, Operator, Parts};
use crate::program::{BlockId, DType, Definition, RowOrigin, RowsId, SymbolId, VarId};

impl<'a, B: Backend> Lowering<'a, B> {
    /// The loop with this body. Registers it with the recorded loop around it.
    pub(super) fn register_loop(&mut self, body: BlockId) -> LoopId {
        let id = self.facts.loop_of.get(&body).copied().unwrap_or(LoopId(0));
        let around = self.program.block(body).parent.and_then(|parent| self.recorded_around(parent));
        if self.loops[id.0].recorded {
            self.loops[id.0].around = around;
            if let Some(around) = around {
                self.loops[around.0].inner.push(id);
            }
        }
        id
    }

    pub(super) fn read_all(&mut self, vars: &[VarId]) -> Result<Vec<SlotId>, PlanError> {
        vars.iter().map(|&var| self.read(var)).collect()
    }

    pub(super) fn define_all(&mut self, vars: &[VarId]) -> Result<Vec<SlotId>, PlanError> {
        vars.iter().map(|&var| self.define(var)).collect()
    }

    /// Adds a slot for the rows of one iteration, inside the slot `of`, which has the rows of all iterations.
    pub(super) fn iteration_slot(&mut self, var: VarId, of: SlotId) -> Result<SlotId, PlanError> {
        let rows = self.program.ty(var).rows;
        let rows = rows.map(|rows| self.program.row_space(rows).size);
        let rows = rows
            .ok_or(PlanError::UnboundSize { symbol: self.program.var(var).name.clone(), outside: false })?;
        let slot = self.slot_like(var, Home::Iteration { of, rows });
        self.touch(slot);
        Ok(slot)
    }

    /// Lowers the items of a loop: values of which each iteration gets its rows. Returns the instructions that run
    /// before each iteration.
    pub(super) fn bring_items(
        &mut self,
        id: LoopId,
        block: BlockId,
        items: &[VarId],
        from: &[SlotId],
    ) -> Result<Vec<Instruction<Kernel<B>>>, PlanError> {
        let program = self.program;
        let mut each = Vec::new();
        for (&param, &of) in items.iter().zip(from) {
            let slot = self.iteration_slot(param, of)?;
            self.memory.slot_of.insert(param, slot);
            let Some(rows) = program.ty(param).rows else { continue };
            let RowOrigin::Part { of } = program.row_space(rows).origin else { continue };
            if self.rows.offsets_of.contains_key(&rows) {
                continue;
            }
            // The item consists of sequences. The first sequence of an iteration begins where the last one of the
            // iteration before ends.
            let (all, sequences) = (program.row_space(of).size, self.size_of_parent(rows));
            if let Some(&taken) = self.rows.taken_of.get(&of) {
                let tokens = program.row_space(rows).size;
                let info = &mut self.loops[id.0];
                info.prefixes.push(Prefix { tokens, sequences, taken, is_slice: true });
                info.slices.push((tokens, all));
                if info.recorded {
                    info.sizes.push(tokens);
                }
            }
            let from = self.offsets(of)?;
            let layout = self.offsets_type(rows)?;
            let name = format!("offsets of {}", program.row_space(rows).name);
            let to = self.auxiliary_slot(name, layout.shape, layout.dtype, block);
            self.rows.offsets_of.insert(rows, to);
            // The offsets of the iteration's rows, and the end of the last sequence.
            let (_, seen) = self.operand(to);
            let part = self.iteration_part("offsets", from, sequences, seen.shape[0]);
            let inputs = [(part, seen.clone())];
            let launch = self.launch_move(Move::RebaseOffsets, &inputs, &[(to, seen)])?;
            each.push(Instruction::Launch(launch));
            self.sort_sequences(rows, block, &mut each)?;
        }
        Ok(each)
    }

    /// Adds a slot for a part of an auxiliary slot: `count` elements, from the first row of the iteration on.
    fn iteration_part(&mut self, what: &str, of: SlotId, rows: SymbolId, count: Extent) -> SlotId {
        let Slot { name, element_bytes, dtype, .. } = &self.memory.slots[of.0];
        let slot = Slot {
            name: format!("{what} in {name}"),
            shape: vec![count],
            layout: Layout::ROW_MAJOR,
            element_bytes: *element_bytes,
            dtype: *dtype,
            home: Home::Iteration { of, rows },
            life: (self.now, self.now),
        };
        let slot = self.add_slot(slot);
        self.touch(slot);
        slot
    }

    pub(super) fn size_of_parent(&self, rows: RowsId) -> SymbolId {
        let parent = self.program.row_space(rows).parent.unwrap_or(rows);
        self.program.row_space(parent).size
    }

    /// Makes the results that a loop collects write into the slots `to`, where an operator of the body computes them.
    /// Returns the other results, which have to be copied.
    pub(super) fn collect_into(
        &mut self,
        block: BlockId,
        results: &[VarId],
        to: &[SlotId],
    ) -> Result<Vec<(VarId, SlotId)>, PlanError> {
        let mut copied = Vec::new();
        for (&result, &of) in results.iter().zip(to) {
            let slot = self.iteration_slot(result, of)?;
            let var = self.program.var(result);
            let is_made_here = var.block == block && var.definition == Definition::Operator;
            if is_made_here
                && !self.memory.slot_of.contains_key(&result)
                && !self.memory.assigned.contains_key(&result)
            {
                self.memory.assigned.insert(result, slot);
            } else {
                copied.push((result, slot));
            }
        }
        Ok(copied)
    }

    /// Compiles the copies of results to the next state. They take effect all at once: a result that is a slot of the
    /// state is copied to another slot first.
    pub(super) fn copy_to_state(
        &mut self,
        results: &[VarId],
        states: &[SlotId],
    ) -> Result<Vec<Instruction<Kernel<B>>>, PlanError> {
        let (mut detours, mut copies) = (Vec::new(), Vec::new());
        for (&result, &state) in results.iter().zip(states) {
            let mut from = self.read(result)?;
            if from == state {
                continue;
            }
            if states.contains(&from) {
                let detour = self.loop_slot(result);
                detours.push(self.copy(from, detour)?);
                from = detour;
            }
            copies.push(self.copy(from, state)?);
        }
        detours.extend(copies);
        Ok(detours)
    }

    /// Gives the state its slots in the body: those of the loop, or saved copies of them. Returns the instructions
    /// that copy.
    pub(super) fn bind_states(
        &mut self,
        params: &[VarId],
        states: &[SlotId],
        is_recorded: bool,
    ) -> Result<Vec<Instruction<Kernel<B>>>, PlanError> {
        let mut save = Vec::new();
        for (&param, &state) in params.iter().zip(states) {
            if is_recorded && self.is_saved(param) {
                let to = self.define(param)?;
                save.push(self.copy(state, to)?);
            } else {
                self.memory.slot_of.insert(param, state);
            }
        }
        Ok(save)
    }

    /// Adds a slot of a value's type that a loop works in.
    pub(super) fn loop_slot(&mut self, like: VarId) -> SlotId {
        let slot = self.slot_like(like, Home::Arena);
        if self.grows(slot) {
            self.give_lane(slot, None);
        }
        slot
    }

    pub(super) fn touch_all(&mut self, slots: &[SlotId]) {
        slots.iter().for_each(|&slot| self.touch(slot));
    }

    /// Extends to now the lifetimes of the operands of a launch.
    pub(super) fn touch_operands(&mut self, launch: &LaunchCode<Kernel<B>>) {
        for at in launch.operands.clone() {
            self.touch(self.operands[at]);
        }
    }

    pub(super) fn for_loop(
        &mut self,
        operator: &Operator,
        items: i64,
    ) -> Result<Instruction<Kernel<B>>, PlanError> {
        let program = self.program;
        let wrong = |this: &Self| this.unsupported(operator, "it does not run along sequences".into());
        let &[body] = &operator.blocks[..] else { return Err(wrong(self)) };
        let block = program.block(body);
        let (Some(parts), Some(rows)) = (Parts::new(items, operator.inputs.len()), block.rows) else {
            return Err(wrong(self));
        };
        let steps = program.steps_of_loop(rows);
        let Some((steps, &order)) = steps.and_then(|steps| Some((steps, self.rows.order_of.get(&steps)?)))
        else {
            return Err(wrong(self));
        };
        let id = self.register_loop(body);
        let inputs = self.read_all(&operator.inputs)?;
        let (items, initial) = inputs.split_at(parts.items);
        let outputs = self.define_all(&operator.outputs)?;
        let (finals, collected) = outputs.split_at(parts.states);
        let at = self.rows.orders[order].order;
        self.touch(at);
        self.known_space(Some(steps));
        let states: Vec<SlotId> =
            operator.outputs[..parts.states].iter().map(|&like| self.loop_slot(like)).collect();
        let space = self.add_space(rows, at, body);
        let sizes = [rows, steps].map(|rows| program.row_space(rows).size);
        self.loops[id.0].slices.push((sizes[0], sizes[1]));
        // A recorded loop around this one keeps the values that are gathered for all rows, so it records the number
        // of rows.
        if let Some(around) = self.loops[id.0].around {
            self.loops[around.0].sizes.push(sizes[0]);
        }

        let mut enter = Vec::with_capacity(states.len());
        for (&from, &to) in initial.iter().zip(&states) {
            enter.push(self.gather(space, from, to)?);
        }
        let mut save = Vec::new();
        let around = program.block(body).parent.unwrap_or_default();
        self.take_sequences(rows, around, Some((id, body)), &mut enter, &mut save)?;
        self.gather_ahead(body, &mut enter)?;
        self.begin_loop();
        self.touch_sequences(&save);
        let (item_params, state_params) = block.params.split_at(parts.items);
        save.extend(self.bring_items(id, body, item_params, items)?);
        let is_recorded = self.loops[id.0].recorded;
        save.extend(self.bind_states(state_params, &states, is_recorded)?);
        let (next, given) = block.results.split_at(parts.states);
        let copied = self.collect_into(body, given, collected)?;
        let code = self.block(body)?;
        self.now += 1;
        let mut advance = self.copy_to_state(next, &states)?;
        for (result, to) in copied {
            // In front of the copies that change the state.
            let from = self.read(result)?;
            advance.insert(0, self.copy(from, to)?);
        }
        self.touch_all(&states);
        self.touch_all(&outputs);
        self.touch_all(&inputs);
        self.end_loop();
        self.touch_all(&states);
        self.touch(at);
        let mut leave = Vec::with_capacity(states.len());
        for (&from, &to) in states.iter().zip(finals) {
            leave.push(self.scatter(space, from, to)?);
        }
        let (place, kind) = (operator.site.place, LoopKind::For { order, rows: space });
        Ok(Instruction::Loop(Box::new(LoopCode { id, place, kind, enter, save, body: code, advance, leave })))
    }

    /// Gathers the values that the body of a `for` gathers, once for all rows in front of the loop. Iterations see
    /// the first rows of them.
    fn gather_ahead(
        &mut self,
        body: BlockId,
        enter: &mut Vec<Instruction<Kernel<B>>>,
    ) -> Result<(), PlanError> {
        let program = self.program;
        for (at, operator) in program.block(body).ops.iter().enumerate() {
            let Op::GatherRows(op) = &operator.op else { break };
            let is_outside = !self.is_below(program.var(operator.inputs[0]).block, body);
            if !self.facts.live.contains(&(body, at)) || !is_outside {
                continue;
            }
            let from = self.read(operator.inputs[0])?;
            let space = self.need_space(Some(op.rows))?;
            let output = operator.outputs[0];
            let to = self.slot_like(output, Home::Arena);
            let around = program.block(body).parent.unwrap_or_default();
            let recorded = self.recorded_around(around).filter(|_| self.is_saved(output));
            if recorded.is_some() || self.grows(to) {
                self.give_lane(to, recorded);
            }
            self.memory.slot_of.insert(output, to);
            self.memory.gathered_ahead.insert(output);
            self.now += 1;
            self.touch(to);
            enter.push(self.gather(space, from, to)?);
        }
        Ok(())
    }

    pub(super) fn while_loop(
        &mut self,
        operator: &Operator,
        limit: i64,
    ) -> Result<Instruction<Kernel<B>>, PlanError> {
        let program = self.program;
        let &[condition_block, body] = &operator.blocks[..] else {
            return Err(self.unsupported(operator, "it does not have two blocks".into()));
        };
        let block = program.block(body);
        let id = self.register_loop(body);
        let is_recorded = self.loops[id.0].recorded;
        let inputs = self.read_all(&operator.inputs)?;
        let outputs = self.define_all(&operator.outputs)?;
        let (finals, given) = outputs.split_at(operator.inputs.len());
        let own_rows = program.block(condition_block).rows.zip(block.rows);
        let states: Vec<SlotId> = match own_rows {
            None => finals.to_vec(),
            Some(_) => operator.outputs[..finals.len()].iter().map(|&like| self.loop_slot(like)).collect(),
        };
        let mut enter = Vec::with_capacity(states.len());
        for (&from, &to) in inputs.iter().zip(&states) {
            enter.push(self.copy(from, to)?);
        }
        let spaces = match own_rows {
            None => None,
            Some((tested, active)) => {
                Some(self.spaces_of_while(id, body, [tested, active], !given.is_empty())?)
            }
        };
        self.begin_loop();
        for (&param, &state) in program.block(condition_block).params.iter().zip(&states) {
            self.memory.slot_of.insert(param, state);
        }
        let condition = self.block(condition_block)?;
        let holds = self.read(program.block(condition_block).results[0])?;
        self.now += 1;
        self.touch(holds);
        let rows = match spaces {
            None => None,
            Some(spaces) => Some(Box::new(self.rows_of_while(spaces, holds, &states)?)),
        };
        self.now += 1;
        let save = self.bind_states(&block.params, &states, is_recorded)?;
        let (next, collected) = block.results.split_at(operator.inputs.len());
        let copied = self.collect_into(body, collected, given)?;
        let code = self.block(body)?;
        self.now += 1;
        let mut advance = self.copy_to_state(next, &states)?;
        for (result, to) in copied {
            let from = self.read(result)?;
            advance.insert(0, self.copy(from, to)?);
        }
        self.touch_all(&states);
        self.touch_all(&outputs);
        let mut leave = Vec::new();
        if let Some(rows) = &rows {
            self.touch_rows(rows);
            for (&from, &to) in states.iter().zip(finals) {
                leave.push(self.scatter(rows.tested, from, to)?);
            }
        }
        self.end_loop();
        self.touch_all(&states);
        self.touch_all(&outputs);
        if let Some(collected) = rows.as_ref().and_then(|rows| rows.collected.as_ref()) {
            self.touch_operands(&collected.collect);
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let place = operator.site.place;
        let kind = LoopKind::While { limit, condition, holds, rows };
        Ok(Instruction::Loop(Box::new(LoopCode { id, place, kind, enter, save, body: code, advance, leave })))
    }

    /// Extends to now the lifetimes of all slots that the rows of a `while` need.
    fn touch_rows(&mut self, rows: &RowsOfWhile<Kernel<B>>) {
        let launches = [&rows.number, &rows.select.launch].into_iter().chain(&rows.compact).chain(&rows.keep);
        for launch in launches {
            self.touch_operands(launch);
        }
    }

    /// The spaces and slots of a `while` with a condition per row.
    fn spaces_of_while(
        &mut self,
        id: LoopId,
        body: BlockId,
        [tested, active]: [RowsId; 2],
        collects: bool,
    ) -> Result<SpacesOfWhile, PlanError> {
        let program = self.program;
        let unbound = |rows: RowsId| PlanError::UnboundSize {
            symbol: program.row_space(rows).name.clone(),
            outside: false,
        };
        let parent = program.source_of(active).ok_or_else(|| unbound(active))?;
        let all = self.rows_extent(parent);
        let around = program.block(body).parent.unwrap_or_default();
        let working = |this: &mut Self, name: &str| {
            let name = format!("{name} of {}", program.row_space(active).name);
            let slot = Slot {
                name,
                shape: vec![all],
                layout: Layout::ROW_MAJOR,
                element_bytes: this.backend.element_bytes(DType::I32),
                dtype: DType::I32,
                home: Home::Arena,
                life: (this.now, this.now),
            };
            let slot = this.add_slot(slot);
            if this.grows(slot) {
                this.give_lane(slot, None);
            }
            slot
        };
        let index = working(self, "row numbers");
        let split = [working(self, "staying rows"), working(self, "leaving rows")];
        let tested = self.add_space(tested, index, around);
        let own = match self.loops[id.0].recorded {
            true => {
                let count = self.rows_extent(active);
                self.row_numbers_slot(active, vec![count], body)
            }
            false => index,
        };
        let active_rows = active;
        let active = self.add_space(active, own, body);
        let rounds = program.steps_of_loop(active_rows).ok_or_else(|| unbound(active_rows))?;
        let tokens = program.source_of(rounds).ok_or_else(|| unbound(rounds))?;
        let collected = match collects {
            false => None,
            true => {
                let sizes = [active_rows, rounds].map(|rows| program.row_space(rows).size);
                self.loops[id.0].slices.push((sizes[0], sizes[1]));
                let count = self.rows_extent(rounds);
                let index = self.row_numbers_slot(rounds, vec![count], around);
                let rounds = self.add_space(rounds, index, around);
                let layout = self.offsets_type(tokens)?;
                let name = format!("offsets of {}", program.row_space(tokens).name);
                let offsets = self.auxiliary_slot(name, layout.shape, layout.dtype, around);
                self.rows.offsets_of.insert(tokens, offsets);
                let size = program.row_space(tokens).size;
                if let Some(around) = self.recorded_around(around) {
                    self.loops[around.0].sizes.push(size);
                }
                Some(CollectedRows { rounds, tokens: size, offsets })
            }
        };
        Ok(SpacesOfWhile { all, tested, active, split, collected })
    }

    /// Compiles the launches over the rows of a `while` with a condition per row.
    fn rows_of_while(
        &mut self,
        spaces: SpacesOfWhile,
        holds: SlotId,
        states: &[SlotId],
    ) -> Result<RowsOfWhile<Kernel<B>>, PlanError> {
        let SpacesOfWhile { all, tested, active, split, collected } = spaces;
        let numbers = self.rows.spaces[tested].index;
        let number = self.launch_move(Move::NumberRows, &[], &[self.operand(numbers)])?;
        let left = self.symbol_extent(self.rows.spaces[tested].size);
        let select = self.select(holds, left, split)?;
        let staying = [self.first_rows(split[0], left)];
        let mut compact = Vec::with_capacity(states.len() + 1);
        for &slot in states.iter().chain([&numbers]) {
            compact.push(self.launch_move(Move::CompactRows, &staying, &[self.operand(slot)])?);
        }
        let from = [self.row_numbers(tested)];
        let keep = match self.rows.spaces[active].index {
            own if own == numbers => None,
            own => Some(self.launch_move(Move::Copy, &from, &[self.operand(own)])?),
        };
        let collected = match collected {
            None => None,
            Some(CollectedRows { rounds, tokens, offsets }) => {
                let (index, size) = (self.rows.spaces[rounds].index, self.rows.spaces[active].size);
                let rows = self.symbol_extent(size);
                let part = self.iteration_part("rows", index, size, rows);
                let add = self.launch_move(Move::Copy, &from, &[self.operand(part)])?;
                let outputs = [self.row_numbers(rounds), self.operand(offsets)];
                let collect = self.launch_move(Move::CollectSequences, &[], &outputs)?;
                Some(Collected { rounds, tokens, add, collect })
            }
        };
        Ok(RowsOfWhile { all, tested, active, number, select, compact, keep, collected })
    }
}

/// The spaces and slots of a `while` with a condition per row.
struct SpacesOfWhile {
    /// The number of rows before the first iteration.
    all: Extent,
    tested: usize,
    active: usize,
    /// The slots of the row numbers that stay, and of those that leave.
    split: [SlotId; 2],
    collected: Option<CollectedRows>,
}

/// The space and the slots of the sequences that a `while` collects.
struct CollectedRows {
    rounds: usize,
    tokens: SymbolId,
    offsets: SlotId,
}
