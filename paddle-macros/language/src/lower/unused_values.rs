//! Values that the user leaves unused on purpose, by binding them to `_` or to a name that begins with `_`.
//!
//! If parameters are used only for such a value, the program records the intent: the value goes into a `stop_gradient`
//! that nothing reads.

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

    /// Records the unused values in the program. Its outputs have to be set.
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
            // `stop_gradient` takes any value of its block, so this cannot fail.
            let _ = self.program.append_op(block, StopGradient, &[value], site);
        }
    }
}
