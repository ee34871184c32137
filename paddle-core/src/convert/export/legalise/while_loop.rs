//! Loops on everything, and what all loops share. The state is in variables that the body overwrites when it ends.

use std::collections::BTreeSet;

use super::{LegaliseError, Legaliser};
use crate::convert::to_wire::holder;
use crate::ops::{Fill, Number, Operator};
use crate::program::{BlockId, DType, Dim, Type, VarId};
use crate::wire::{OpAttr, OpDesc, VarKind};

impl Legaliser<'_> {
    pub(super) fn repeat(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let &[condition, body] = operator.blocks.as_slice() else { return Ok(()) };
        match self.program.block(body).rows {
            None => self.while_scalar(at, operator, condition, body),
            Some(rows) => self.while_rows(at, operator, condition, body, rows),
        }
    }

    fn while_scalar(
        &mut self,
        at: usize,
        operator: &Operator,
        condition: BlockId,
        body: BlockId,
    ) -> Result<(), LegaliseError> {
        let program = self.program;
        let state: Vec<String> = operator.inputs.iter().map(|&input| self.copy(at, input)).collect();
        let holds = self.condition(at, condition, &state)?;
        let holds = self.copy(at, holds);

        let inner = self.new_block(Some(at));
        self.bind(body, &state);
        self.block(inner, body)?;
        // Results that are state themselves are copied before any state is overwritten.
        let params = &program.block(body).params;
        let next = program.block(body).results.iter().zip(params);
        let copied = |(&result, &param): (&VarId, &VarId)| match result {
            result if result == param => None,
            result if state.contains(&self.name(result)) => Some(self.copy(inner, result)),
            result => Some(self.name(result)),
        };
        let next: Vec<Option<String>> = next.map(copied).collect();
        for (from, to) in next.into_iter().zip(&state) {
            if let Some(from) = from {
                self.assign(inner, from, to.clone());
            }
        }
        let again = self.condition(inner, condition, &state)?;
        let again = self.name(again);
        self.assign(inner, again, holds.clone());
        self.push_loop(at, inner, holds);
        self.names.extend(operator.outputs.iter().copied().zip(state));
        Ok(())
    }

    /// A copy of a value that follows from constants and parameters alone. The default predictor computes such a value when it loads a model,
    /// and then fails where it is fetched, unless a loop may overwrite it: this one does not run.
    pub(super) fn copy_when_run(&mut self, at: usize, var: VarId) -> String {
        let value = self.copy(at, var);
        let runs = self.constant(at, Number::Bool(false), &Type::new(DType::Bool, [1]), "runs");
        let inner = self.new_block(Some(at));
        let same = self.declare(inner, &value, self.program.ty(var));
        self.assign(inner, value.clone(), same.clone());
        self.assign(inner, same, value.clone());
        self.push_loop(at, inner, runs);
        value
    }

    /// Appends the operator that runs a block as long as the variable `holds` is true. The block overwrites this
    /// variable.
    pub(super) fn push_loop(&mut self, at: usize, inner: usize, holds: String) {
        let captured: BTreeSet<String> =
            self.captured(inner).into_iter().filter(|name| *name != holds).collect();
        let outputs =
            self.blocks[inner].ops.iter().flat_map(|op| &op.outputs).flat_map(|slot| &slot.arguments);
        let is_outside = |name: &&String| self.homes.get(*name).is_some_and(|&home| home != inner);
        let written: BTreeSet<String> = outputs.filter(is_outside).cloned().collect();
        let scopes = self.special(at, "while.scopes", VarKind::StepScopes);
        let desc = OpDesc::new("while")
            .with_input("Condition", [holds])
            .with_input("X", captured)
            .with_output("Out", written)
            .with_output("StepScopes", [scopes])
            .with_attr(OpAttr::block("sub_block", inner as i32))
            .with_attr(OpAttr::bool("is_test", true));
        self.push(at, desc);
    }

    /// Appends the condition block of a loop, on the current state, and returns its result.
    pub(super) fn condition(
        &mut self,
        at: usize,
        block: BlockId,
        state: &[String],
    ) -> Result<VarId, LegaliseError> {
        self.bind(block, state);
        self.block(at, block)?;
        Ok(self.program.block(block).results[0])
    }

    /// Binds the parameters of a block to these variables.
    pub(super) fn bind(&mut self, block: BlockId, state: &[String]) {
        let params = self.program.block(block).params.iter();
        self.names.extend(params.copied().zip(state.iter().cloned()));
    }

    /// A variable without rows, for values of this type.
    pub(super) fn none_of(
        &mut self,
        at: usize,
        operator: &Operator,
        ty: &Type,
    ) -> Result<String, LegaliseError> {
        let dims = std::iter::once(Dim::from(0)).chain(ty.dims.iter().cloned()).collect();
        let ty = Type { rows: None, dims, ..ty.clone() };
        self.constant_of_size(at, operator, &Fill { value: zero(ty.dtype), ty }, "collected")
    }

    /// A variable in which PaddlePaddle keeps something other than a tensor.
    pub(super) fn special(&mut self, at: usize, name: &str, kind: VarKind) -> String {
        let name = self.free(name);
        self.homes.insert(name.clone(), at);
        self.blocks[at].vars.push(holder(&name, kind));
        name
    }
}

/// Zero, or `false`.
pub(super) fn zero(dtype: DType) -> Number {
    match dtype {
        DType::Bool => Number::Bool(false),
        DType::I32 | DType::I64 => Number::Int(0),
        DType::F32 | DType::F64 => Number::Float(0.0),
    }
}
