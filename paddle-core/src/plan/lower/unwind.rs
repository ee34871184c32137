//! Lowering of the gradients of loops, which visit the iterations from the last to the first.

use std::collections::BTreeSet;

use super::super::backend::Backend;
use super::super::code::{Instruction, Kernel, LoopGradCode, SlotId};
use super::super::error::PlanError;
use super::Lowering;
use crate::ops::{Captured, LoopGrad, Operator};
use crate::program::RowOrigin;

impl<B: Backend> Lowering<'_, B> {
    pub(super) fn loop_grad(
        &mut self,
        operator: &Operator,
        op: &LoopGrad,
    ) -> Result<Instruction<Kernel<B>>, PlanError> {
        let program = self.program;
        let body = operator.blocks[0];
        let block = program.block(body);
        let id = block.forward.and_then(|forward| self.facts.loop_of.get(&forward).copied());
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
        let (mut enter, mut leave, mut full_sizes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut before, mut after) = (Vec::new(), Vec::new());

        // The slots of the state's gradient. In a `for` they are in the order of the sorted rows, and `leave`
        // scatters them to the results; otherwise they are the results.
        let like = &operator.outputs[..parts.states];
        let states: Vec<SlotId> = match is_sorted {
            true => like.iter().map(|&like| self.loop_slot(like)).collect(),
            false => initial.to_vec(),
        };
        for (k, &from) in finals.iter().enumerate() {
            enter.push(match is_sorted {
                true => {
                    let space = self.need_space(rows)?;
                    self.gather(space, from, states[k])?
                }
                false => self.copy(from, states[k])?,
            });
        }
        if is_sorted && let Some(rows) = rows.and_then(|rows| Some((rows, program.source_of(rows)?))) {
            full_sizes.push((program.row_space(rows.0).size, self.rows_extent(rows.1)));
        }
        let (next, results) = block.results.split_at(parts.states);
        let (given, added) = results.split_at(op.of_items());
        // The slots of the gradients of captured values, which are sums over the iterations, likewise.
        let mut sums = Vec::with_capacity(captured.len());
        for (k, (&to, &result)) in captured.iter().zip(added).enumerate() {
            let how = LoopGrad::captured(program, program.ty(result), rows);
            let sum = match how {
                Captured::Rows { inside, outside } if is_sorted => {
                    let sum = self.loop_slot(operator.outputs[parts.states + op.of_items() + k]);
                    let space = self.need_space(Some(inside))?;
                    leave.push(self.scatter(space, sum, to)?);
                    if Some(inside) != rows {
                        full_sizes.push((program.row_space(inside).size, self.rows_extent(outside)));
                    }
                    sum
                }
                _ => to,
            };
            enter.push(self.zero(sum)?);
            sums.push((how, sum));
        }
        self.begin_loop();
        let (item_params, state_params) = block.params.split_at(parts.items);
        before.extend(self.bring_items(id, body, item_params, items)?);
        for (&param, &state) in state_params.iter().zip(&states) {
            if rows.is_some() && !is_sorted {
                let to = self.define(param)?;
                let space = self.need_space(rows)?;
                before.push(self.gather(space, state, to)?);
            } else {
                self.memory.slot_of.insert(param, state);
            }
        }
        let copied = self.collect_into(body, given, of_items)?;
        let code = self.block(body)?;
        self.now += 1;
        for (&result, &(how, to)) in added.iter().zip(&sums) {
            let mut from = self.read(result)?;
            if states.contains(&from) && !matches!(how, Captured::Whole) {
                // The slots of the state have room for all rows. A copy has only the rows of this iteration; the
                // others must not be added.
                let detour = self.loop_slot(result);
                after.push(self.copy(from, detour)?);
                from = detour;
            }
            after.push(match how {
                Captured::Rows { inside, .. } if !is_sorted => {
                    let space = self.need_space(Some(inside))?;
                    self.add_rows(space, from, to)?
                }
                _ => self.add(from, to)?,
            });
        }
        for (result, to) in copied {
            let from = self.read(result)?;
            after.push(self.copy(from, to)?);
        }
        if rows.is_some() && !is_sorted {
            for (&result, &to) in next.iter().zip(&states) {
                let (from, space) = (self.read(result)?, self.need_space(rows)?);
                after.push(self.scatter(space, from, to)?);
            }
        } else {
            after.extend(self.copy_to_state(next, &states)?);
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
            for (&from, &to) in states.iter().zip(initial) {
                leave.push(self.scatter(space, from, to)?);
            }
        }
        for (how, _) in &sums {
            if let Captured::Rows { inside, .. } = how {
                self.need_space(Some(*inside))?;
            }
        }
        let body = before.into_iter().chain(code).chain(after).collect();
        Ok(Instruction::LoopGrad(Box::new(LoopGradCode { id, enter, body, leave, full_sizes })))
    }
}
