//! The outputs of a topology.

use paddle_core::ops::Assign;
use paddle_core::program::{Definition, VarId};

use super::Lowering;
use crate::ast::{Expr, ExprKind, text};
use crate::report::Extent;
use crate::values::Value;

impl<'a> Lowering<'a, '_> {
    /// The returned values, under the names that the outputs get.
    pub(super) fn outputs(
        &mut self,
        value: &Value<'a>,
        result: Option<&'a Expr>,
        at: Extent,
        outputs: &mut Vec<VarId>,
    ) {
        let kind = result.map(|result| &result.kind);
        if let Value::Tuple(values) = value {
            let parts: &[Expr] = match kind {
                Some(ExprKind::Tuple(parts)) => parts,
                _ => &[],
            };
            for (i, value) in values.iter().enumerate() {
                let part = parts.get(i);
                self.outputs(value, part, part.map_or(at, |part| part.at), outputs);
            }
            return;
        }
        let Some(var) = self.materialize(value, at) else { return };
        let Some(ExprKind::Name { ident, .. }) = kind else { return outputs.push(var) };
        let name = text(ident);
        // An input, and a value that is returned twice, already have names.
        let has_name = self.program.var(var).definition != Definition::Operator || outputs.contains(&var);
        let copy = has_name && self.program.var(var).name != name;
        let output = match copy {
            true => self.copy(var, at).unwrap_or(var),
            false => var,
        };
        self.program.claim_name(output, &name);
        outputs.push(output);
    }

    fn copy(&mut self, var: VarId, at: Extent) -> Option<VarId> {
        let site = self.site(at.start);
        match self.program.append_op(self.block, Assign, &[var], site) {
            Ok(outputs) => outputs.first().copied(),
            Err(error) => {
                self.build_error(error, at, &[]);
                None
            }
        }
    }
}
