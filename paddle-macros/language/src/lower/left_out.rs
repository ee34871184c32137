//! What the user leaves unused: values that are bound to `_`, or to a name that begins with it.
//!
//! The program says of it that it is meant, where parameters are for nothing else: it goes into a `stop_gradient` that
//! nothing reads.

use paddle_core::ops::StopGradient;
use paddle_core::passes::of_unused_parameters;
use paddle_core::program::VarId;
use proc_macro2::Span;

use super::Lowering;
use crate::values::Value;

impl Lowering<'_, '_> {
    /// Notes that a value is left unused.
    pub(super) fn leave_out(&mut self, value: &Value<'_>, at: Span) {
        match value {
            Value::Var(var) => self.left_out.push((*var, at)),
            Value::Tuple(parts) | Value::Array(parts) => {
                parts.iter().for_each(|part| self.leave_out(part, at))
            }
            _ => {}
        }
    }

    /// Says in the program what is left unused. It has its outputs.
    pub(super) fn stop_left_out(&mut self) {
        let mut left_out = std::mem::take(&mut self.left_out);
        left_out.dedup_by_key(|(var, _)| *var);
        let values: Vec<VarId> = left_out.iter().map(|(var, _)| *var).collect();
        if values.is_empty() {
            return;
        }
        for value in of_unused_parameters(&self.program, &values) {
            let at = left_out.iter().find(|(var, _)| *var == value).map(|(_, at)| *at);
            let site = self.site(at.unwrap_or_else(Span::call_site));
            let block = self.program.var(value).block;
            // It takes any value of its own block.
            let _ = self.program.append_op(block, StopGradient, &[value], site);
        }
    }
}
