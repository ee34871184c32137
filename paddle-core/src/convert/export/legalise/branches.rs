//! Branches, and what blocks of all kinds share.

use std::collections::BTreeSet;

use super::row_spaces::{Chosen, Known};
use super::while_loop::zero;
use super::{LegaliseError, Legaliser, mask_type};
use crate::convert::types::element;
use crate::ops::Operator;
use crate::program::{BlockId, DType, Type, VarId};
use crate::wire::{OpAttr, OpDesc, VarKind};

impl Legaliser<'_> {
    pub(super) fn branches(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        match self.program.ty(operator.inputs[0]).rows {
            Some(_) => self.branches_per_row(at, operator),
            None => self.branches_on_scalar(at, operator),
        }
    }

    /// A mask as a column with a truth value for each row.
    pub(super) fn mask(
        &mut self,
        at: usize,
        operator: &Operator,
        var: VarId,
    ) -> Result<String, LegaliseError> {
        let ty = self.program.ty(var);
        let mask = self.name(var);
        let mask = self.without_offsets(at, mask, ty);
        match ty.dims.is_empty() {
            true => self.reshaped(at, operator, mask, ty, &mask_type(ty.rows)),
            false => Ok(mask),
        }
    }

    /// Whether the mask is true for any row.
    pub(super) fn any(&mut self, at: usize, mask: String) -> String {
        self.reduced(at, "reduce_any", true, mask, &Type::scalar(DType::Bool))
    }

    /// Reduces all rows to one value, or each column to one row.
    pub(super) fn reduced(&mut self, at: usize, name: &str, all: bool, x: String, ty: &Type) -> String {
        let reduce = OpDesc::new(name)
            .with_attr(OpAttr::ints("dim", [0]))
            .with_attr(OpAttr::bool("keep_dim", !all))
            .with_attr(OpAttr::bool("reduce_all", all))
            .with_attr(OpAttr::int("in_dtype", -1))
            .with_attr(OpAttr::int("out_dtype", -1));
        self.step(at, reduce, x, ty)
    }

    /// Runs each branch on its rows, if there are any, and merges the results.
    fn branches_per_row(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let column = mask_type(program.ty(operator.inputs[0]).rows);
        let mask = self.mask(at, operator, operator.inputs[0])?;
        // If only the number of a branch's rows matters, their numbers stand for them.
        let counts = self.sides(at, &mask);
        let not = self.step(at, OpDesc::new("logical_not"), mask.clone(), &column);
        let mut sides = Vec::with_capacity(2);
        for (i, (of_side, count)) in [mask.clone(), not].into_iter().zip(counts).enumerate() {
            let block = operator.blocks[i];
            if let Some(rows) = program.block(block).rows {
                self.enter(rows, Chosen::Mask { mask: mask.clone(), side: i == 0 });
                self.note(at, rows, Known::Count, count);
            }
            let any = self.any(at, of_side);
            let results = self.results(at, block);
            for (&result, to) in program.block(block).results.iter().zip(&results) {
                let ty = program.ty(result);
                if ty.dims.iter().any(|dim| dim.constant().is_none()) {
                    return self.refuse(operator, "the sizes of results have to be numbers");
                }
                self.without_rows(at, ty, to.clone());
            }
            let numbers = self.numbers_of_results(at, block);
            self.branch(at, operator, any, block, &results, &numbers)?;
            sides.push(results.into_iter().zip(numbers).collect::<Vec<_>>());
        }
        for (i, &output) in operator.outputs.iter().enumerate() {
            let ty = program.ty(output);
            let called = &program.var(output).name;
            let [yes, no] = [0, 1].map(|side: usize| sides[side][i].clone());
            let out = match (yes, no) {
                ((yes, Some(of_yes)), (no, Some(of_no))) => {
                    let both = self.joined(at, [&yes, &no], ty);
                    let numbers = self.joined(at, [&of_yes, &of_no], &ty.with_dtype(DType::I64));
                    self.sorted(at, both, numbers, ty, called)
                }
                ((yes, _), (no, _)) => {
                    let sides = [yes, no].map(|side| self.without_offsets(at, side, ty));
                    self.merge(at, &mask, sides, ty, called)
                }
            };
            self.names.insert(output, out);
        }
        Ok(())
    }

    /// For each result of a branch that consists of whole sequences, a variable for the numbers of its tokens. It is
    /// empty if the branch does not run.
    fn numbers_of_results(&mut self, at: usize, block: BlockId) -> Vec<Option<String>> {
        let program = self.program;
        let rows = program.block(block).rows;
        let mut numbers = Vec::new();
        for &result in &program.block(block).results {
            let ty = program.ty(result);
            numbers.push((ty.rows != rows).then(|| {
                let list = Type { rows: ty.rows, ..Type::scalar(DType::I64) };
                let to = self.declare(at, "numbers", &list);
                self.without_rows(at, &list, to.clone());
                to
            }));
        }
        numbers
    }

    /// Runs one of the two branches.
    fn branches_on_scalar(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let condition = self.name(operator.inputs[0]);
        let ty = program.ty(operator.inputs[0]);
        let not = self.step(at, OpDesc::new("logical_not"), condition.clone(), ty);
        let [yes, no] = [0, 1].map(|side| self.results(at, operator.blocks[side]));
        self.branch(at, operator, condition.clone(), operator.blocks[0], &yes, &[])?;
        self.branch(at, operator, not, operator.blocks[1], &no, &[])?;
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

    /// Declares variables for the results of a branch.
    fn results(&mut self, at: usize, block: BlockId) -> Vec<String> {
        let program = self.program;
        let results = program.block(block).results.iter().map(|&result| program.var(result));
        results.map(|result| self.declare(at, &result.name, &result.ty)).collect()
    }

    /// Gives a variable no rows, for a branch that does not run. Otherwise the variable would keep the rows of an
    /// earlier run.
    fn without_rows(&mut self, at: usize, ty: &Type, to: String) {
        let sizes = ty.dims.iter().filter_map(|dim| dim.constant());
        self.fill(at, zero(ty.dtype), ty.dtype, std::iter::once(0).chain(sizes).collect(), to);
    }

    /// A block that runs if a scalar condition holds. It then copies its results to variables around it.
    fn branch(
        &mut self,
        at: usize,
        operator: &Operator,
        condition: String,
        block: BlockId,
        results: &[String],
        numbers: &[Option<String>],
    ) -> Result<(), LegaliseError> {
        let program = self.program;
        let inner = self.new_block(Some(at));
        self.block(inner, block)?;
        for (&result, to) in program.block(block).results.iter().zip(results) {
            self.assign(inner, self.name(result), to.clone());
        }
        for (&result, to) in program.block(block).results.iter().zip(numbers) {
            if let (Some(rows), Some(to)) = (program.ty(result).rows, to) {
                let from = self.need(inner, operator, rows, Known::Numbers)?;
                self.assign(inner, from, to.clone());
            }
        }
        let written = results.iter().chain(numbers.iter().flatten()).cloned().collect();
        self.push_branch(at, inner, condition, written);
        Ok(())
    }

    /// Appends the operator that runs a block if a scalar condition holds.
    pub(super) fn push_branch(&mut self, at: usize, inner: usize, condition: String, written: Vec<String>) {
        let scope = self.special(at, "conditional_block.scope", VarKind::StepScopes);
        // The block keeps what it writes to if it does not run. Without a reader, constants there end the predictor's process.
        let mut read = self.captured(inner);
        read.extend(written.iter().cloned());
        let desc = OpDesc::new("conditional_block")
            .with_input("Cond", [condition])
            .with_input("Input", read)
            .with_output("Out", written)
            .with_output("Scope", [scope])
            .with_attr(OpAttr::block("sub_block", inner as i32))
            .with_attr(OpAttr::bool("is_scalar_condition", true));
        self.push(at, desc);
    }

    /// The variables of outer blocks that a block reads. Operators with blocks list those that their blocks read.
    pub(super) fn captured(&self, block: usize) -> BTreeSet<String> {
        let block = &self.blocks[block];
        let own: BTreeSet<&str> = block.vars.iter().map(|var| var.name.as_str()).collect();
        let read = block.ops.iter().flat_map(|op| &op.inputs).flat_map(|slot| &slot.arguments);
        read.filter(|name| !own.contains(name.as_str())).cloned().collect()
    }
}
