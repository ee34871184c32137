//! Loops and their gradients.

use std::collections::BTreeSet;

use super::super::backend::Backend;
use super::super::code::{
    Collected, Copy, Home, Instruction, LoopCode, LoopGradCode, LoopId, LoopKind, Prefix, Rebase,
    RowsOfWhile, Slot, SlotId,
};
use super::super::error::PlanError;
use super::Lowering;
use crate::ops::{Captured, LoopGrad, Op, Parts};
use crate::program::{BlockId, Definition, Operator, RowOrigin, RowsId, VarId};

impl<'a, B: Backend> Lowering<'a, B> {
    /// The loop with this body.
    fn begin(&mut self, body: BlockId) -> LoopId {
        let id = self.loop_of.get(&body).copied().unwrap_or(LoopId(0));
        let around = self.program.block(body).parent.and_then(|parent| self.recorded_around(parent));
        if self.loops[id.0].recorded {
            self.loops[id.0].around = around;
            if let Some(around) = around {
                self.loops[around.0].inner.push(id);
            }
        }
        id
    }

    fn read_all(&mut self, vars: &[VarId]) -> Result<Vec<SlotId>, PlanError> {
        vars.iter().map(|&var| self.read(var)).collect()
    }

    fn define_all(&mut self, vars: &[VarId]) -> Result<Vec<SlotId>, PlanError> {
        vars.iter().map(|&var| self.define(var)).collect()
    }

    /// A slot for what an iteration has of the rows of all.
    fn iteration(&mut self, var: VarId, of: SlotId) -> Result<SlotId, PlanError> {
        let rows = self.program.ty(var).rows;
        let rows = rows.map(|rows| self.program.row_space(rows).size);
        let rows = rows
            .ok_or(PlanError::UnboundSize { symbol: self.program.var(var).name.clone(), outside: false })?;
        let slot = self.slot_like(var, Home::Iteration { of, rows });
        self.touch(slot);
        Ok(slot)
    }

    /// What comes to each iteration of a loop with its rows. Returns what has to be done before each.
    fn items(
        &mut self,
        id: LoopId,
        block: BlockId,
        items: &[VarId],
        from: &[SlotId],
    ) -> Result<Vec<Instruction<B::Kernel>>, PlanError> {
        let program = self.program;
        let mut each = Vec::new();
        for (&param, &of) in items.iter().zip(from) {
            let slot = self.iteration(param, of)?;
            self.slot_of.insert(param, slot);
            let Some(rows) = program.ty(param).rows else { continue };
            let RowOrigin::Part { of } = program.row_space(rows).origin else { continue };
            if self.offsets_of.contains_key(&rows) {
                continue;
            }
            // Sequences: they begin where those of the iterations before end.
            let (all, sequences) = (program.row_space(of).size, self.size_of_parent(rows));
            if let Some(&taken) = self.taken_of.get(&of) {
                let tokens = program.row_space(rows).size;
                let info = &mut self.loops[id.0];
                info.prefixes.push(Prefix { tokens, sequences, taken, is_slice: true });
                info.slices.push((tokens, all));
                if info.recorded {
                    info.sizes.push(tokens);
                }
            }
            let from = self.offsets(of)?;
            let layout = self.offsets_layout(rows)?;
            let name = format!("offsets of {}", program.row_space(rows).name);
            let to = self.auxiliary(name, layout.shape, Some(layout.dtype), block);
            self.offsets_of.insert(rows, to);
            each.push(Instruction::Rebase(Rebase { rows: sequences, from, to }));
            self.sort(rows, block, &mut each)?;
        }
        Ok(each)
    }

    fn size_of_parent(&self, rows: RowsId) -> crate::program::SymbolId {
        let parent = self.program.row_space(rows).parent.unwrap_or(rows);
        self.program.row_space(parent).size
    }

    /// Has the values that a body gives for all iterations written where they are collected, as far as an operator of the
    /// body makes them. Returns the others: they are copied.
    fn collect_into(
        &mut self,
        block: BlockId,
        results: &[VarId],
        to: &[SlotId],
    ) -> Result<Vec<(VarId, SlotId)>, PlanError> {
        let mut copied = Vec::new();
        for (&result, &of) in results.iter().zip(to) {
            let slot = self.iteration(result, of)?;
            let var = self.program.var(result);
            let is_made_here = var.block == block && var.definition == Definition::Operator;
            if is_made_here && !self.slot_of.contains_key(&result) && !self.given.contains_key(&result) {
                self.given.insert(result, slot);
            } else {
                copied.push((result, slot));
            }
        }
        Ok(copied)
    }

    /// Copies of results to the state, all at once: a result that is itself a part of the state goes by a detour.
    fn advance(
        &mut self,
        results: &[VarId],
        states: &[SlotId],
    ) -> Result<Vec<Instruction<B::Kernel>>, PlanError> {
        let (mut detours, mut copies) = (Vec::new(), Vec::new());
        for (&result, &state) in results.iter().zip(states) {
            let mut from = self.read(result)?;
            if from == state {
                continue;
            }
            if states.contains(&from) {
                let detour = self.working(result);
                detours.push(Instruction::Copy(Copy { from, to: detour }));
                from = detour;
            }
            copies.push(Instruction::Copy(Copy { from, to: state }));
        }
        detours.extend(copies);
        Ok(detours)
    }

    /// The slots of the state within an iteration: those of the loop, or copies that are saved.
    fn states(
        &mut self,
        params: &[VarId],
        states: &[SlotId],
        is_recorded: bool,
    ) -> Result<Vec<Instruction<B::Kernel>>, PlanError> {
        let mut save = Vec::new();
        for (&param, &state) in params.iter().zip(states) {
            if is_recorded && self.is_saved(param) {
                save.push(Instruction::Copy(Copy { from: state, to: self.define(param)? }));
            } else {
                self.slot_of.insert(param, state);
            }
        }
        Ok(save)
    }

    /// A slot like that of a value, which a loop works on.
    fn working(&mut self, like: VarId) -> SlotId {
        let slot = self.slot_like(like, Home::Arena);
        if self.grows(slot) {
            self.give_lane(slot, None);
        }
        slot
    }

    fn touch_all(&mut self, slots: &[SlotId]) {
        slots.iter().for_each(|&slot| self.touch(slot));
    }

    pub(super) fn for_loop(
        &mut self,
        operator: &Operator,
        items: i64,
    ) -> Result<Instruction<B::Kernel>, PlanError> {
        let program = self.program;
        let wrong = |this: &Self| this.unsupported(operator, "it does not run along sequences".into());
        let &[body] = &operator.blocks[..] else { return Err(wrong(self)) };
        let block = program.block(body);
        let (Some(parts), Some(rows)) = (Parts::new(items, operator.inputs.len()), block.rows) else {
            return Err(wrong(self));
        };
        let steps = program.steps_of_loop(rows);
        let Some((steps, &order)) = steps.and_then(|steps| Some((steps, self.order_of.get(&steps)?))) else {
            return Err(wrong(self));
        };
        let id = self.begin(body);
        let inputs = self.read_all(&operator.inputs)?;
        let (items, initial) = inputs.split_at(parts.items);
        let outputs = self.define_all(&operator.outputs)?;
        let (finals, collected) = outputs.split_at(parts.states);
        let at = self.orders[order].order;
        self.touch(at);
        self.known_space(Some(steps));
        let states: Vec<SlotId> =
            operator.outputs[..parts.states].iter().map(|&like| self.working(like)).collect();
        let space = self.add_space(rows, at, body);
        let sizes = [rows, steps].map(|rows| program.row_space(rows).size);
        self.loops[id.0].slices.push((sizes[0], sizes[1]));
        // What is brought in for all rows is kept by the loop around: it has to know how many they were.
        if let Some(around) = self.loops[id.0].around {
            self.loops[around.0].sizes.push(sizes[0]);
        }

        let mut enter: Vec<_> =
            initial.iter().zip(&states).map(|(&from, &to)| Instruction::Gather { space, from, to }).collect();
        let mut save = Vec::new();
        let around = program.block(body).parent.unwrap_or_default();
        self.take(rows, around, Some((id, body)), &mut enter, &mut save)?;
        self.prepare(body, &mut enter)?;
        self.begin_loop();
        self.touch_sequences(&save);
        let (item_params, state_params) = block.params.split_at(parts.items);
        save.extend(self.items(id, body, item_params, items)?);
        let is_recorded = self.loops[id.0].recorded;
        save.extend(self.states(state_params, &states, is_recorded)?);
        let (next, given) = block.results.split_at(parts.states);
        let copied = self.collect_into(body, given, collected)?;
        let code = self.block(body)?;
        self.now += 1;
        let mut advance = self.advance(next, &states)?;
        for (result, to) in copied {
            // In front, as the state changes.
            advance.insert(0, Instruction::Copy(Copy { from: self.read(result)?, to }));
        }
        self.touch_all(&states);
        self.touch_all(&outputs);
        self.touch_all(&inputs);
        self.end_loop();
        self.touch_all(&states);
        self.touch(at);
        let leave = states.iter().zip(finals);
        let leave = leave.map(|(&from, &to)| Instruction::Scatter { space, from, to }).collect();
        let (origin, kind) = (self.origin(operator), LoopKind::For { order, rows: space });
        Ok(Instruction::Loop(Box::new(LoopCode {
            id,
            origin,
            kind,
            enter,
            save,
            body: code,
            advance,
            leave,
        })))
    }

    /// What a `for` brings to its rows is brought once, in its order: an iteration has the first rows of it.
    fn prepare(&mut self, body: BlockId, enter: &mut Vec<Instruction<B::Kernel>>) -> Result<(), PlanError> {
        let program = self.program;
        for (at, operator) in program.block(body).ops.iter().enumerate() {
            let Op::GatherRows(op) = &operator.op else { break };
            let is_outside = !self.is_below(program.var(operator.inputs[0]).block, body);
            if !self.live.contains(&(body, at)) || !is_outside {
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
            self.slot_of.insert(output, to);
            self.prepared.insert(output);
            self.now += 1;
            self.touch(to);
            enter.push(Instruction::Gather { space, from, to });
        }
        Ok(())
    }

    pub(super) fn while_loop(
        &mut self,
        operator: &Operator,
        limit: i64,
    ) -> Result<Instruction<B::Kernel>, PlanError> {
        let program = self.program;
        let &[condition_block, body] = &operator.blocks[..] else {
            return Err(self.unsupported(operator, "it does not have two blocks".into()));
        };
        let block = program.block(body);
        let id = self.begin(body);
        let is_recorded = self.loops[id.0].recorded;
        let inputs = self.read_all(&operator.inputs)?;
        let outputs = self.define_all(&operator.outputs)?;
        let (finals, given) = outputs.split_at(operator.inputs.len());
        let own_rows = program.block(condition_block).rows.zip(block.rows);
        let states: Vec<SlotId> = match own_rows {
            None => finals.to_vec(),
            Some(_) => operator.outputs[..finals.len()].iter().map(|&like| self.working(like)).collect(),
        };
        let copies = inputs.iter().zip(&states);
        let enter = copies.map(|(&from, &to)| Instruction::Copy(Copy { from, to })).collect();
        let rows = match own_rows {
            None => None,
            Some((tested, active)) => {
                Some(self.rows_of_while(id, body, [tested, active], &states, !given.is_empty())?)
            }
        };
        self.begin_loop();
        for (&param, &state) in program.block(condition_block).params.iter().zip(&states) {
            self.slot_of.insert(param, state);
        }
        let condition = self.block(condition_block)?;
        let holds = self.read(program.block(condition_block).results[0])?;
        self.now += 1;
        self.touch(holds);
        if let Some(rows) = &rows {
            self.touch_all(&rows.split);
        }
        self.now += 1;
        let save = self.states(&block.params, &states, is_recorded)?;
        let (next, collected) = block.results.split_at(operator.inputs.len());
        let copied = self.collect_into(body, collected, given)?;
        let code = self.block(body)?;
        self.now += 1;
        let mut advance = self.advance(next, &states)?;
        for (result, to) in copied {
            advance.insert(0, Instruction::Copy(Copy { from: self.read(result)?, to }));
        }
        self.touch_all(&states);
        self.touch_all(&outputs);
        let mut leave = Vec::new();
        if let Some(rows) = &rows {
            let all = [
                rows.split[0],
                rows.split[1],
                self.spaces[rows.tested].index,
                self.spaces[rows.active].index,
            ];
            self.touch_all(&all);
            let space = rows.tested;
            leave = states
                .iter()
                .zip(finals)
                .map(|(&from, &to)| Instruction::Scatter { space, from, to })
                .collect();
        }
        self.end_loop();
        self.touch_all(&states);
        self.touch_all(&outputs);
        if let Some(collected) = rows.as_ref().and_then(|rows| rows.collected) {
            self.touch(collected.offsets);
            self.touch(self.spaces[collected.rounds].index);
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let origin = self.origin(operator);
        let kind = LoopKind::While { limit, condition, holds, rows };
        Ok(Instruction::Loop(Box::new(LoopCode {
            id,
            origin,
            kind,
            enter,
            save,
            body: code,
            advance,
            leave,
        })))
    }

    /// What a `while` needs whose rows leave one by one.
    fn rows_of_while(
        &mut self,
        id: LoopId,
        body: BlockId,
        [tested, active]: [RowsId; 2],
        states: &[SlotId],
        collects: bool,
    ) -> Result<Box<RowsOfWhile>, PlanError> {
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
            let life = (this.now, this.now);
            let slot = Slot {
                name,
                shape: vec![all],
                element_bytes: size_of::<u32>(),
                dtype: None,
                home: Home::Arena,
                life,
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
                self.numbers(active, vec![count], body)
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
                let index = self.numbers(rounds, vec![count], around);
                let rounds = self.add_space(rounds, index, around);
                let layout = self.offsets_layout(tokens)?;
                let name = format!("offsets of {}", program.row_space(tokens).name);
                let offsets = self.auxiliary(name, layout.shape, Some(layout.dtype), around);
                self.offsets_of.insert(tokens, offsets);
                let size = program.row_space(tokens).size;
                if let Some(around) = self.recorded_around(around) {
                    self.loops[around.0].sizes.push(size);
                }
                Some(Collected { rounds, tokens: size, offsets })
            }
        };
        Ok(Box::new(RowsOfWhile { all, tested, active, split, states: states.to_vec(), collected }))
    }

    pub(super) fn loop_grad(
        &mut self,
        operator: &Operator,
        op: &LoopGrad,
    ) -> Result<Instruction<B::Kernel>, PlanError> {
        let program = self.program;
        let body = operator.blocks[0];
        let block = program.block(body);
        let id = block.forward.and_then(|forward| self.loop_of.get(&forward).copied());
        let (Some(id), Some(parts)) = (id, op.parts(operator.inputs.len())) else {
            return Err(self.unsupported(operator, "the loop that it differentiates is not run".into()));
        };
        if !self.unwound.insert(id) {
            return Err(
                self.unsupported(operator, "the tape of a loop unwinds once, for one gradient".into())
            );
        }
        let rows = block.rows;
        let steps = rows.and_then(|rows| program.steps_of_loop(rows));
        let is_sorted = steps.is_some_and(|steps| program.row_space(steps).origin == RowOrigin::Steps);
        let inputs = self.read_all(&operator.inputs)?;
        let (items, finals) = inputs.split_at(parts.items);
        let outputs = self.define_all(&operator.outputs)?;
        let (initial, rest) = outputs.split_at(parts.states);
        let (of_items, captured) = rest.split_at(op.of_items());
        let (mut enter, mut leave, mut whole) = (Vec::new(), Vec::new(), Vec::new());
        let (mut before, mut after) = (Vec::new(), Vec::new());

        // Gradients of the state, in the order of the rows of a `for`, else where they end up.
        let like = &operator.outputs[..parts.states];
        let states: Vec<SlotId> = match is_sorted {
            true => like.iter().map(|&like| self.working(like)).collect(),
            false => initial.to_vec(),
        };
        for (k, &from) in finals.iter().enumerate() {
            enter.push(match is_sorted {
                true => Instruction::Gather { space: self.need_space(rows)?, from, to: states[k] },
                false => Instruction::Copy(Copy { from, to: states[k] }),
            });
        }
        if is_sorted && let Some(rows) = rows.and_then(|rows| Some((rows, program.source_of(rows)?))) {
            whole.push((program.row_space(rows.0).size, self.rows_extent(rows.1)));
        }
        let (next, results) = block.results.split_at(parts.states);
        let (given, added) = results.split_at(op.of_items());
        // Sums of what was captured, likewise.
        let mut sums = Vec::with_capacity(captured.len());
        for (k, (&to, &result)) in captured.iter().zip(added).enumerate() {
            let how = LoopGrad::captured(program, program.ty(result), rows);
            let sum = match how {
                Captured::Rows { inside, outside } if is_sorted => {
                    let sum = self.working(operator.outputs[parts.states + op.of_items() + k]);
                    let space = self.need_space(Some(inside))?;
                    leave.push(Instruction::Scatter { space, from: sum, to });
                    if Some(inside) != rows {
                        whole.push((program.row_space(inside).size, self.rows_extent(outside)));
                    }
                    sum
                }
                _ => to,
            };
            enter.push(Instruction::Zero(sum));
            sums.push((how, sum));
        }
        self.begin_loop();
        let (item_params, state_params) = block.params.split_at(parts.items);
        before.extend(self.items(id, body, item_params, items)?);
        for (&param, &state) in state_params.iter().zip(&states) {
            if rows.is_some() && !is_sorted {
                let to = self.define(param)?;
                before.push(Instruction::Gather { space: self.need_space(rows)?, from: state, to });
            } else {
                self.slot_of.insert(param, state);
            }
        }
        let copied = self.collect_into(body, given, of_items)?;
        let code = self.block(body)?;
        self.now += 1;
        for (&result, &(how, to)) in added.iter().zip(&sums) {
            let mut from = self.read(result)?;
            if states.contains(&from) && !matches!(how, Captured::Whole) {
                // State has room for all rows. Those that this iteration is without add nothing.
                let detour = self.working(result);
                after.push(Instruction::Copy(Copy { from, to: detour }));
                from = detour;
            }
            after.push(match how {
                Captured::Rows { inside, .. } if !is_sorted => {
                    Instruction::AddRows { space: self.need_space(Some(inside))?, from, to }
                }
                _ => Instruction::Add(Copy { from, to }),
            });
        }
        for (result, to) in copied {
            after.push(Instruction::Copy(Copy { from: self.read(result)?, to }));
        }
        if rows.is_some() && !is_sorted {
            for (&result, &to) in next.iter().zip(&states) {
                let (from, space) = (self.read(result)?, self.need_space(rows)?);
                after.push(Instruction::Scatter { space, from, to });
            }
        } else {
            after.extend(self.advance(next, &states)?);
        }
        let held: BTreeSet<SlotId> = states
            .iter()
            .chain(&outputs)
            .chain(&inputs)
            .chain(sums.iter().map(|(_, sum)| sum))
            .copied()
            .collect();
        let held: Vec<SlotId> = held.into_iter().collect();
        self.touch_all(&held);
        self.end_loop();
        self.touch_all(&held);
        if is_sorted {
            let space = self.need_space(rows)?;
            leave.extend(states.iter().zip(initial).map(|(&from, &to)| Instruction::Scatter {
                space,
                from,
                to,
            }));
        }
        for (how, _) in &sums {
            if let Captured::Rows { inside, .. } = how {
                self.need_space(Some(*inside))?;
            }
        }
        let body = before.into_iter().chain(code).chain(after).collect();
        Ok(Instruction::LoopGrad(Box::new(LoopGradCode { id, enter, body, leave, whole })))
    }
}
