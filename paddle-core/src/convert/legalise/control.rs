//! Operators with blocks.

use std::collections::BTreeSet;

use super::super::to_wire::holder;
use super::super::types::element;
use super::{LegaliseError, Legaliser, mask_type};
use crate::ops::Fill;
use crate::program::{BlockId, DType, Operator, Type, VarId};
use crate::wire::{OpAttr, OpDesc, VarKind};

impl Legaliser<'_> {
    /// One side of a split.
    pub(super) fn gather(
        &mut self,
        at: usize,
        block: BlockId,
        operator: &Operator,
    ) -> Result<(), LegaliseError> {
        let program = self.program;
        let mask = program.rows_of_block(block).and_then(|rows| self.masks.get(&rows).cloned());
        let Some((mask, side)) = mask else {
            return self.refuse(operator, "the rows of this block are not chosen by an `if`");
        };
        let x = self.name(operator.inputs[0]);
        let out = self.define(at, operator.outputs[0]);
        let rest = self.declare(at, "split_lod_tensor", program.ty(operator.outputs[0]));
        self.split(at, x, mask, if side { [out, rest] } else { [rest, out] });
        Ok(())
    }

    fn split(&mut self, at: usize, x: String, mask: String, [yes, no]: [String; 2]) {
        let desc = OpDesc::new("split_lod_tensor")
            .with_input("X", [x])
            .with_input("Mask", [mask])
            .with_output("OutTrue", [yes])
            .with_output("OutFalse", [no])
            .with_attr(OpAttr::int("level", 0));
        self.push(at, desc);
    }

    pub(super) fn branches(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        match self.program.ty(operator.inputs[0]).rows {
            Some(_) => self.branches_per_row(at, operator),
            None => self.branches_on_scalar(at, operator),
        }
    }

    /// Each branch on its rows, if there are any; then both merged.
    fn branches_per_row(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let condition = program.ty(operator.inputs[0]);
        if program.is_sequence(condition) {
            return self.refuse(operator, "PaddlePaddle splits sequences as a whole, not by their tokens");
        }
        let column = mask_type(condition.rows);
        let mut mask = self.name(operator.inputs[0]);
        if condition.dims.is_empty() {
            mask = self.reshaped(at, operator, mask, condition, &column)?;
        }
        // The mask's own rows stand for those of each branch where only their number matters.
        let samples = [(); 2].map(|()| self.declare(at, "split_lod_tensor", &column));
        self.split(at, mask.clone(), mask.clone(), samples.clone());
        let not = self.step(at, OpDesc::new("logical_not"), mask.clone(), &column);
        let mut sides = Vec::with_capacity(2);
        for (i, (of_side, sample)) in [mask.clone(), not].into_iter().zip(samples).enumerate() {
            let block = operator.blocks[i];
            if let Some(rows) = program.block(block).rows {
                self.masks.insert(rows, (mask.clone(), i == 0));
                self.samples.insert(rows, sample.clone());
            }
            let any = OpDesc::new("reduce_any")
                .with_attr(OpAttr::longs("dim", [0]))
                .with_attr(OpAttr::bool("keep_dim", false))
                .with_attr(OpAttr::bool("reduce_all", true))
                .with_attr(OpAttr::int("in_dtype", -1))
                .with_attr(OpAttr::int("out_dtype", -1));
            let any = self.step(at, any, of_side, &Type::scalar(DType::Bool));
            let results = self.results(at, block);
            for (&result, to) in program.block(block).results.iter().zip(&results) {
                self.without_rows(at, operator, sample.clone(), program.ty(result), to.clone())?;
            }
            self.branch(at, any, block, &results)?;
            sides.push(results);
        }
        for (i, &output) in operator.outputs.iter().enumerate() {
            let out = self.define(at, output);
            let merge = OpDesc::new("merge_lod_tensor")
                .with_input("X", [mask.clone()])
                .with_input("Mask", [mask.clone()])
                .with_input("InTrue", [sides[0][i].clone()])
                .with_input("InFalse", [sides[1][i].clone()])
                .with_output("Out", [out])
                .with_attr(OpAttr::int("level", 0));
            self.push(at, merge);
        }
        Ok(())
    }

    /// One of the two branches.
    fn branches_on_scalar(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let condition = self.name(operator.inputs[0]);
        let ty = program.ty(operator.inputs[0]);
        let not = self.step(at, OpDesc::new("logical_not"), condition.clone(), ty);
        let [yes, no] = [0, 1].map(|side| self.results(at, operator.blocks[side]));
        self.branch(at, condition.clone(), operator.blocks[0], &yes)?;
        self.branch(at, not, operator.blocks[1], &no)?;
        let cast = OpDesc::new("cast")
            .with_attr(OpAttr::int("in_dtype", element(DType::Bool).into()))
            .with_attr(OpAttr::int("out_dtype", element(DType::I32).into()));
        let which = self.step(at, cast, condition, &ty.with_dtype(DType::I32));
        for ((&output, yes), no) in operator.outputs.iter().zip(yes).zip(no) {
            let out = self.define(at, output);
            let select = OpDesc::new("select_input")
                .with_input("X", [no, yes])
                .with_input("Mask", [which.clone()])
                .with_output("Out", [out]);
            self.push(at, select);
        }
        Ok(())
    }

    /// Variables for the results of a branch.
    fn results(&mut self, at: usize, block: BlockId) -> Vec<String> {
        let program = self.program;
        let results = program.block(block).results.iter().map(|&result| program.var(result));
        results.map(|result| self.declare(at, &result.name, &result.ty)).collect()
    }

    /// What a branch leaves that does not run: no rows. Without this, a variable would have those of the run before.
    fn without_rows(
        &mut self,
        at: usize,
        operator: &Operator,
        sample: String,
        ty: &Type,
        to: String,
    ) -> Result<(), LegaliseError> {
        if ty.dims.iter().any(|dim| dim.constant().is_none()) {
            return self.refuse(operator, "the sizes of results have to be numbers");
        }
        self.fill_like(at, operator, sample, &Fill::zeros(ty.clone()), to)
    }

    /// A block that runs if a scalar condition holds, and then copies its results into variables around it.
    fn branch(
        &mut self,
        at: usize,
        condition: String,
        block: BlockId,
        results: &[String],
    ) -> Result<(), LegaliseError> {
        let program = self.program;
        let inner = self.new_block(Some(at));
        self.block(inner, block)?;
        for (&result, to) in program.block(block).results.iter().zip(results) {
            self.assign(inner, self.name(result), to.clone());
        }
        let scope = self.special(at, "conditional_block.scope");
        let desc = OpDesc::new("conditional_block")
            .with_input("Cond", [condition])
            .with_input("Input", self.captured(inner))
            .with_output("Out", results.iter().cloned())
            .with_output("Scope", [scope])
            .with_attr(OpAttr::block("sub_block", inner as i32))
            .with_attr(OpAttr::bool("is_scalar_condition", true));
        self.push(at, desc);
        Ok(())
    }

    /// State in variables that the body overwrites when it ends.
    pub(super) fn repeat(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let &[condition, body] = operator.blocks.as_slice() else { return Ok(()) };
        let state: Vec<String> = operator.inputs.iter().map(|&input| self.copy(at, input)).collect();
        let holds = self.condition(at, condition, &state)?;
        let holds = self.copy(at, holds);

        let inner = self.new_block(Some(at));
        self.bind(body, &state);
        self.block(inner, body)?;
        // What is state itself is copied before any state is overwritten.
        let params = &program.block(body).params;
        let next = program.block(body).results.iter().zip(params);
        let copied = |(&result, &param): (&VarId, &VarId)| match result {
            result if result == param => None,
            result if params.contains(&result) => Some(self.copy(inner, result)),
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

        let captured: BTreeSet<String> =
            self.captured(inner).into_iter().filter(|name| *name != holds).collect();
        let scopes = self.special(at, "while.scopes");
        let written = state.iter().cloned().chain([holds.clone()]);
        let desc = OpDesc::new("while")
            .with_input("Condition", [holds.clone()])
            .with_input("X", captured)
            .with_output("Out", written)
            .with_output("StepScopes", [scopes])
            .with_attr(OpAttr::block("sub_block", inner as i32))
            .with_attr(OpAttr::bool("is_test", true));
        self.push(at, desc);
        for (&output, state) in operator.outputs.iter().zip(state) {
            self.names.insert(output, state);
        }
        Ok(())
    }

    /// Appends the condition block of a loop, on the state as it is, and returns its result.
    fn condition(&mut self, at: usize, block: BlockId, state: &[String]) -> Result<VarId, LegaliseError> {
        self.bind(block, state);
        self.block(at, block)?;
        Ok(self.program.block(block).results[0])
    }

    /// Lets the parameters of a block be these variables.
    fn bind(&mut self, block: BlockId, state: &[String]) {
        let params = self.program.block(block).params.iter();
        self.names.extend(params.copied().zip(state.iter().cloned()));
    }

    /// A variable in which PaddlePaddle keeps the scopes of a block.
    fn special(&mut self, at: usize, name: &str) -> String {
        let name = self.free(name);
        self.blocks[at].vars.push(holder(&name, VarKind::StepScopes));
        name
    }

    /// The variables of outer blocks that a block reads. (Operators with blocks list what those read.)
    fn captured(&self, block: usize) -> BTreeSet<String> {
        let block = &self.blocks[block];
        let own: BTreeSet<&str> = block.vars.iter().map(|var| var.name.as_str()).collect();
        let read = block.ops.iter().flat_map(|op| &op.inputs).flat_map(|slot| &slot.arguments);
        read.filter(|name| !own.contains(name.as_str())).cloned().collect()
    }
}
