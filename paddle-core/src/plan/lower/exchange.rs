//! Lowering of operators that exchange values with other machines.

use super::super::backend::{Backend, Side};
use super::super::error::PlanError;
use super::super::exchange::ExchangeCode;
use super::Lowering;
use crate::ops::Operator;
use crate::program::Role;

impl<B: Backend> Lowering<'_, B> {
    /// Lowers an operator that exchanges values.
    pub(super) fn exchange(&mut self, operator: &Operator) -> Result<ExchangeCode, PlanError> {
        let mut slots = Vec::new();
        for &input in &operator.inputs {
            slots.push(self.read(input)?);
        }
        for &output in &operator.outputs {
            slots.push(self.define(output)?);
        }
        if slots.iter().any(|&slot| self.memory.slots[slot.0].home.side() != Side::Own) {
            let message = "it exchanges a value that only the fallback has".to_string();
            return Err(self.unsupported(operator, message));
        }
        Ok(ExchangeCode {
            op: operator.op.clone(),
            is_forward: !matches!(operator.site.role, Role::Backward | Role::Optimize),
            slots,
            operator: self.program.called(operator).to_string(),
            place: operator.site.place.map(|place| self.program.locate(place)),
        })
    }
}
