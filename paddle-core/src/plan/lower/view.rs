//! Lowering of views: values in the memory of others.

use super::super::backend::{Backend, Side};
use super::super::code::Home;
use super::super::error::PlanError;
use super::super::schedule::Unit;
use super::super::views::is_same;
use super::Lowering;
use crate::ops::Operator;
use crate::program::{BlockId, Definition, VarId};

impl<B: Backend> Lowering<'_, B> {
    /// Places the results of an operator in the memory of its first input, where nothing is launched then. False if they need
    /// memory of their own.
    pub(super) fn view(&mut self, id: BlockId, unit: &Unit) -> Result<bool, PlanError> {
        let program = self.program;
        let [at] = unit.operators[..] else { return Ok(false) };
        let operator = &program.block(id).ops[at];
        let Operator { inputs, outputs, .. } = operator;
        let Some(&of) = inputs.first().filter(|_| outputs.iter().all(|&output| self.may_view(output))) else {
            return Ok(false);
        };
        // Groups absorb constants, which have no memory then.
        if outputs.is_empty() || !self.keeps_order(operator, of) || self.constant(of).is_some() {
            return Ok(false);
        }
        let slot = self.read(of)?;
        let home = self.memory.slots[slot.0].home;
        let stays = match home {
            Home::Arena | Home::Lane(..) | Home::Pool | Home::Prepared | Home::View { .. } => true,
            Home::Parameter(..) => self.facts.is_fixed(program, of),
            Home::Staging | Home::State(..) | Home::Iteration { .. } => false,
        };
        // The slot of a value that the runtime changes itself, as the state of a loop, does not keep its elements.
        if !stays || home.side() != Side::Own || program.var(of).definition == Definition::BlockParameter {
            return Ok(false);
        }
        for &output in outputs {
            let first = self.facts.views[&output];
            let bytes = first * self.memory.slots[slot.0].element_bytes;
            let view = self.slot_like(output, Home::View { of: slot, bytes });
            self.memory.slot_of.insert(output, view);
        }
        Ok(true)
    }

    fn may_view(&self, var: VarId) -> bool {
        self.facts.views.contains_key(&var) && !self.memory.assigned.contains_key(&var)
    }

    /// Whether the results of an operator have their elements in the same order as they are in its first input, in the layouts that
    /// these values have.
    fn keeps_order(&self, operator: &Operator, of: VarId) -> bool {
        let from = self.arrangement.of_value(of);
        operator.outputs.iter().all(|&output| {
            let to = self.arrangement.of_value(output);
            match operator.op.operation().reordered() {
                Some(order) => is_same(order, [&from, &to]),
                None => from.is_row_major() && to.is_row_major(),
            }
        })
    }
}
