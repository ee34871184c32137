//! Operators that work along sequences. PaddlePaddle's take the offsets from the variables of the values.

use super::row_spaces::{END, Known};
use super::sequence_positions::list;
use super::{LegaliseError, Legaliser};
use crate::convert::to_wire::operators::describe;
use crate::convert::types::element;
use crate::ops::{
    Binary, BinaryKind, Fill, Matmul, Operator, PoolType, Program, SequencePool, SequenceSoftmax,
    SequenceWindow, Unary, UnaryKind,
};
use crate::program::{DType, Dim, RowsId, Type, VarId};
use crate::wire::{OpAttr, OpDesc};

impl Legaliser<'_> {
    /// The variable of a value, with the offsets of its sequences. PaddlePaddle's operators pass offsets on or lose
    /// them, each in its own way. If no variable tells the offsets, they are left to the operators.
    pub(super) fn with_offsets(&mut self, at: usize, var: VarId) -> String {
        let (program, name) = (self.program, self.name(var));
        match program.ty(var).rows {
            Some(rows) => self.at_offsets(at, name, program.ty(var), rows),
            None => name,
        }
    }

    /// The variable of a value, with the offsets of all levels, if an input has several.
    pub(super) fn with_levels(&mut self, at: usize, var: VarId) -> String {
        let (program, name) = (self.program, self.name(var));
        let ty = program.ty(var);
        let rows = ty.rows.map(|rows| self.program.before_loops(rows));
        let outer = rows.and_then(|rows| program.rows_of_whole_sequences(rows));
        let is_nested = outer.is_some_and(|outer| program.rows_of_whole_sequences(outer).is_some());
        match rows.filter(|_| is_nested).and_then(|rows| self.known(at, rows, Known::Levels)) {
            Some(of) => self.reset(at, name, ty, of),
            None => self.with_offsets(at, var),
        }
    }

    /// A variable with the offsets of the sequences whose tokens are `rows`, in any order.
    pub(super) fn at_offsets(&mut self, at: usize, x: String, ty: &Type, rows: RowsId) -> String {
        let rows = self.program.before_loops(rows);
        if self.program.rows_of_whole_sequences(rows).is_none() {
            return x;
        }
        match self.known(at, rows, Known::Offsets) {
            Some(of) => self.reset(at, x, ty, of),
            None => x,
        }
    }

    /// A variable with the offsets of another one. PaddlePaddle has no kernel for truth values, but a cast keeps
    /// offsets.
    fn reset(&mut self, at: usize, x: String, ty: &Type, of: String) -> String {
        if of == x {
            return x;
        }
        if ty.dtype != DType::Bool {
            return self.step(at, lod_reset(of), x, ty);
        }
        let numbers = ty.with_dtype(DType::I32);
        let x = self.cast(at, x, ty, DType::I32);
        let x = self.step(at, lod_reset(of), x, &numbers);
        self.cast(at, x, &numbers, DType::Bool)
    }

    pub(super) fn sequence_align(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let (x, y) = (self.name(operator.inputs[0]), self.with_offsets(at, operator.inputs[1]));
        let out = self.define(at, operator.outputs[0]);
        let reset = lod_reset(y).with_input("X", [x]).with_output("Out", [out]);
        self.push(at, reset);
        Ok(())
    }

    pub(super) fn sequence_expand_as(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let [ty, out] = [operator.inputs[0], operator.outputs[0]].map(|var| program.ty(var));
        let name = self.name(operator.inputs[0]);
        let x = self.in_columns(at, operator, name, ty)?;
        let y = self.with_offsets(at, operator.inputs[1]);
        let mut expanded = self.expanded(at, x, &at_least_column(ty), y, &at_least_column(out));
        if out.dims.is_empty() {
            expanded = self.reshaped(at, operator, expanded, &at_least_column(out), out)?;
        }
        self.names.insert(operator.outputs[0], expanded);
        Ok(())
    }

    /// A row for each token of `y`: that of `x` to which its sequence belongs. Later releases do not have
    /// `sequence_expand_as`. This one repeats whole sequences where it finds some, and operators hand offsets on to results
    /// that are no sequences, so it gets a part of `x`, which has none.
    fn expanded(&mut self, at: usize, x: String, of: &Type, y: String, ty: &Type) -> String {
        let x = self.sliced(at, x, of, 0, END);
        let expand =
            OpDesc::new("sequence_expand").with_input("Y", [y]).with_attr(OpAttr::int("ref_level", 0));
        self.step(at, expand, x, ty)
    }

    pub(super) fn sequence_pool(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &SequencePool,
    ) -> Result<(), LegaliseError> {
        let program = self.program;
        let (ty, out) = (program.ty(operator.inputs[0]), program.ty(operator.outputs[0]));
        let x = self.with_offsets(at, operator.inputs[0]);
        let x = self.in_columns(at, operator, x, ty)?;
        let called =
            if ty.dims.is_empty() { "sequence_pool" } else { &program.var(operator.outputs[0]).name };
        let mut pooled = self.pooled(at, operator, op, x, &at_least_column(ty), called)?;
        if ty.dims.is_empty() {
            pooled = self.reshaped(at, operator, pooled, &at_least_column(out), out)?;
        }
        self.names.insert(operator.outputs[0], pooled);
        Ok(())
    }

    /// Whether sequences, or those of which they are a part, come from outside.
    pub(super) fn is_fed(&self, rows: RowsId) -> bool {
        let drawn = self.program.drawn_from(rows);
        self.program.inputs().iter().any(|&input| self.program.ty(input).rows == Some(drawn))
    }

    /// Pools the sequences of a variable with offsets to one row each. The real pooling needs at least as many tokens
    /// as there are sequences. Sequences that a `while` gives may have fewer, so they get one more, of zeros, which is
    /// left out of the result.
    fn pooled(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &SequencePool,
        x: String,
        ty: &Type,
        called: &str,
    ) -> Result<String, LegaliseError> {
        let made = ty.rows.map(|rows| self.program.before_loops(rows)).filter(|&rows| !self.is_fed(rows));
        let parent = made.and_then(|rows| self.program.rows_of_whole_sequences(rows));
        let (Some(made), Some(parent)) = (made, parent) else {
            return Ok(self.pool_tokens(at, op, x, ty, called));
        };
        let bounds = self.need(at, operator, made, Known::Bounds)?;
        let count = self.need(at, operator, parent, Known::Count)?;
        let of_row = Type { rows: Some(parent), ..ty.clone() };
        let zeros = self.declare(at, "sequence_pool.zeros", &of_row);
        self.fill_like(at, operator, count, &Fill::zeros(of_row.clone()), zeros.clone())?;
        let longer = self.joined(at, [&x, &zeros], ty);
        let longer = self.joined(at, [&longer, &zeros], ty);
        let end = self.count_of(at, longer.clone(), ty);
        let bounds = self.joined(at, [&bounds, &end], &list(DType::I32));
        let longer = self.step(at, lod_reset(bounds), longer, ty);
        let pooled = self.pool_tokens(at, op, longer, ty, "sequence_pool");
        Ok(self.sliced(at, pooled, &of_row, 0, -1))
    }

    /// Appends the real pooling, which notes the position of a maximum.
    pub(super) fn pool_tokens(
        &mut self,
        at: usize,
        op: &SequencePool,
        x: String,
        ty: &Type,
        called: &str,
    ) -> String {
        let rows = ty.rows.and_then(|rows| self.program.rows_of_sequences(rows));
        let pooled = Type { rows, ..ty.clone() };
        let index = self.declare(at, "sequence_pool.max_index", &pooled.with_dtype(DType::I32));
        let out = self.declare(at, called, &pooled);
        let desc = describe(&(*op).into(), &[x], std::slice::from_ref(&out), &[]);
        self.push(at, desc.with_output("MaxIndex", [index]).with_attr(OpAttr::bool("is_test", true)));
        out
    }

    pub(super) fn sequence_reverse(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let var = self.program.var(operator.outputs[0]);
        let Some(rows) = var.ty.rows else { return self.refuse(operator, "it has no sequences") };
        let starts = self.need(at, operator, rows, Known::Starts)?;
        let lengths = self.need(at, operator, rows, Known::Lengths)?;
        let numbers = self.reversed(at, starts, lengths);
        let x = self.name(operator.inputs[0]);
        let out = self.take(at, x, numbers, &var.ty, &var.name);
        self.names.insert(operator.outputs[0], out);
        Ok(())
    }

    /// The real kernel takes exponentials without a shift, so the largest element of each sequence is subtracted
    /// before. It takes one number for each token only; for several, the formula is written out.
    pub(super) fn sequence_softmax(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let ty = program.ty(operator.inputs[0]);
        let x = self.with_offsets(at, operator.inputs[0]);
        let x = self.in_columns(at, operator, x, ty)?;
        let tokens = at_least_column(ty);
        let pool = |pooltype| SequencePool { pooltype, pad_value: 0.0 };
        let largest =
            self.pooled(at, operator, &pool(PoolType::Max), x.clone(), &tokens, "sequence_softmax.max")?;
        let rows =
            Type { rows: tokens.rows.and_then(|rows| program.rows_of_sequences(rows)), ..tokens.clone() };
        let largest = self.expanded(at, largest, &rows, x.clone(), &tokens);
        let shifted = self.emit(at, Binary { kind: BinaryKind::Sub }, &[&x, &largest], &tokens);
        let mut out = if tokens.dims.iter().all(|dim| dim.constant() == Some(1)) {
            self.emit(at, SequenceSoftmax, &[&shifted], &tokens)
        } else {
            let exp = self.emit(at, Unary::of(UnaryKind::Exp), &[&shifted], &tokens);
            let sum = self.pooled(
                at,
                operator,
                &pool(PoolType::Sum),
                exp.clone(),
                &tokens,
                "sequence_softmax.sum",
            )?;
            let sum = self.expanded(at, sum, &rows, x.clone(), &tokens);
            self.emit(at, Binary { kind: BinaryKind::Div }, &[&exp, &sum], &tokens)
        };
        if ty.dims.is_empty() {
            out = self.reshaped(at, operator, out, &tokens, ty)?;
        }
        self.names.insert(operator.outputs[0], out);
        Ok(())
    }

    pub(super) fn crf_decoding(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let inputs = [self.with_offsets(at, operator.inputs[0]), self.name(operator.inputs[1])];
        let desc = self.same_on(operator, at, &inputs);
        self.push(at, desc);
        Ok(())
    }

    /// The real operator needs 32-bit labels.
    pub(super) fn warpctc(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let label = operator.inputs[1];
        let logits = self.with_offsets(at, operator.inputs[0]);
        let labels = self.with_offsets(at, label);
        let labels = self.in_columns(at, operator, labels, self.program.ty(label))?;
        let narrow = at_least_column(&self.program.ty(label).with_dtype(DType::I32));
        let from = OpAttr::int("in_dtype", element(DType::I64).into());
        let to = OpAttr::int("out_dtype", element(DType::I32).into());
        let labels = self.step(at, OpDesc::new("cast").with_attr(from).with_attr(to), labels, &narrow);
        let desc = self.same_on(operator, at, &[logits, labels]);
        self.push(at, desc);
        Ok(())
    }

    /// The variable. If its tokens have no dimension, they get one of size 1.
    pub(super) fn in_columns(
        &mut self,
        at: usize,
        operator: &Operator,
        name: String,
        ty: &Type,
    ) -> Result<String, LegaliseError> {
        match ty.dtype {
            DType::Bool => self.refuse(operator, "PaddlePaddle has it for numbers, not for truth values"),
            _ if ty.dims.is_empty() => self.reshaped(at, operator, name, ty, &at_least_column(ty)),
            _ => Ok(name),
        }
    }

    /// PaddlePaddle has windows of ids, and windows that are multiplied with filters. Plain windows are multiplied with
    /// filters that each choose an element.
    pub(super) fn sequence_window(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &SequenceWindow,
    ) -> Result<(), LegaliseError> {
        let program = self.program;
        let (x, windows) = (operator.inputs[0], operator.outputs[0]);
        let (ty, out) = (program.ty(x), program.ty(windows));
        let sizes = [op.start, op.length].map(i32::try_from);
        let (true, [Ok(start), Ok(length)]) = (ty.dtype.is_float() && op.pad_value == 0.0, sizes) else {
            return self.windows_by_numbers(at, operator, op);
        };
        let width = ty.dims.iter().try_fold(Dim::from(1), |width, dim| &width * dim).ok();
        let Some(width) = width.and_then(|width| width.constant()) else {
            return self.refuse(operator, "the sizes of a token have to be numbers");
        };
        let flat = |width: i64| Type { dims: vec![Dim::from(width)], ..ty.clone() };
        let mut name = self.with_offsets(at, x);
        if ty.dims.len() != 1 {
            name = self.reshaped(at, operator, name, ty, &flat(width))?;
        }
        if ty.dims.len() == 1 && is_only_multiplied(program, windows) {
            self.windows.insert(windows, (name, *op));
            return Ok(());
        }
        let Some(size) = width.checked_mul(op.length) else {
            return self.refuse(operator, "a size exceeds 64 bits");
        };
        let square = Type { rows: None, dims: vec![Dim::from(size); 2], ..ty.clone() };
        let filters = self.declare(at, "sequence_window.filters", &square);
        let eye = OpDesc::new("eye")
            .with_output("Out", [filters.clone()])
            .with_attr(OpAttr::long("num_rows", size))
            .with_attr(OpAttr::long("num_columns", size))
            .with_attr(OpAttr::int("dtype", element(ty.dtype).into()));
        self.push(at, eye);
        let conv = sequence_conv(start, length).with_input("Filter", [filters]);
        let mut found = self.step(at, conv, name, &flat(size));
        if out.dims.len() != 1 {
            found = self.reshaped(at, operator, found, &flat(size), out)?;
        }
        self.names.insert(windows, found);
        Ok(())
    }

    /// A product with windows along sequences is a convolution.
    pub(super) fn matmul(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let Some((x, SequenceWindow { start, length, .. })) = self.windows.get(&operator.inputs[0]).cloned()
        else {
            return self.same(at, operator);
        };
        let (filter, out) = (self.name(operator.inputs[1]), self.define(at, operator.outputs[0]));
        let conv = sequence_conv(start as i32, length as i32);
        let conv = conv.with_input("X", [x]).with_input("Filter", [filter]).with_output("Out", [out]);
        self.push(at, conv);
        Ok(())
    }

    pub(super) fn sequence_length(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let rows = self.program.ty(operator.inputs[0]).rows;
        let Some(lengths) = rows.and_then(|rows| self.known(at, rows, Known::Lengths)) else {
            return self.refuse(operator, "nothing that is exported says how long these sequences are");
        };
        self.names.insert(operator.outputs[0], lengths);
        Ok(())
    }
}

/// Whether a value is read only by products with matrices that are the same for all rows.
fn is_only_multiplied(program: &Program, var: VarId) -> bool {
    let is_product = |operator: &Operator| {
        let filter = operator.inputs.get(1).map(|&filter| program.ty(filter));
        operator.op == Matmul::PLAIN.into()
            && operator.inputs[1] != var
            && filter.is_some_and(|filter| filter.rows.is_none() && filter.dims.len() == 2)
    };
    let blocks = program.blocks();
    let mut readers =
        blocks.iter().flat_map(|block| &block.ops).filter(|operator| operator.inputs.contains(&var));
    readers.all(is_product)
        && !program.outputs().contains(&var)
        && !blocks.iter().any(|block| block.results.contains(&var))
}

/// A convolution along sequences.
fn sequence_conv(start: i32, length: i32) -> OpDesc {
    OpDesc::new("sequence_conv")
        .with_attr(OpAttr::int("contextStart", start))
        .with_attr(OpAttr::int("contextLength", length))
        .with_attr(OpAttr::int("contextStride", 1))
        .with_attr(OpAttr::bool("paddingTrainable", false))
}

/// An operator that gives a value the offsets of the sequences of a variable.
pub(super) fn lod_reset(of: String) -> OpDesc {
    OpDesc::new("lod_reset")
        .with_input("Y", [of])
        .with_attr(OpAttr::ints("target_lod", []))
        .with_attr(OpAttr::bool("append", false))
}

/// The type, with a dimension of 1 if it has none besides the rows.
pub(super) fn at_least_column(ty: &Type) -> Type {
    let dims = if ty.dims.is_empty() { vec![Dim::from(1)] } else { ty.dims.clone() };
    Type { dims, ..*ty }
}
