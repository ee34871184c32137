//! Sequences that are made from others: joined, by positions, padded.

use super::row_spaces::Known;
use super::sequence_positions::list;
use super::sequences::at_least_column;
use super::{LegaliseError, Legaliser};
use crate::ops::{Binary, BinaryKind, Number, Operator, Scale, SequencePad};
use crate::program::{DType, Dim, RowsId, Type};
use crate::wire::{OpAttr, OpDesc};

impl Legaliser<'_> {
    /// One number for each row, without other dimensions.
    fn flat(&mut self, at: usize, x: String, ty: &Type) -> String {
        match ty.dims.is_empty() {
            true => x,
            false => self.reshaped_to(at, x, ty, &Type { dims: Vec::new(), ..ty.clone() }, vec![-1]),
        }
    }

    /// The row space of an operand's tokens, which have to be stored in the order of the sequences.
    fn tokens_of(&self, operator: &Operator, k: usize) -> Result<RowsId, LegaliseError> {
        match self.program.ty(operator.inputs[k]).rows {
            Some(rows) => Ok(self.program.before_loops(rows)),
            None => self.refuse(operator, "its operands are no sequences"),
        }
    }

    /// For each token of other sequences of the same rows, the number of tokens before its row's sequence.
    fn starts_for(
        &mut self,
        at: usize,
        operator: &Operator,
        of: RowsId,
        tokens: RowsId,
    ) -> Result<String, LegaliseError> {
        let starts = self.need(at, operator, of, Known::Starts)?;
        let lengths = self.need(at, operator, tokens, Known::Lengths)?;
        Ok(self.repeated(at, starts, lengths))
    }

    pub(super) fn sequence_range(
        &mut self,
        at: usize,
        operator: &Operator,
        rows: RowsId,
    ) -> Result<(), LegaliseError> {
        let ty = self.program.ty(operator.inputs[0]);
        let lengths = self.name(operator.inputs[0]);
        let lengths = self.without_offsets(at, lengths, ty);
        let lengths = self.flat(at, lengths, ty);
        let begins = self.sums_before(at, lengths.clone());
        let back = self.emit(at, Scale { scale: -1.0, bias: 0.0 }, &[&begins], &list(DType::I64));
        let positions = self.spread(at, back, lengths.clone());
        self.make(at, rows, positions.clone(), lengths);
        self.names.insert(operator.outputs[0], positions);
        Ok(())
    }

    pub(super) fn sequence_gather(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let [x, index] = [operator.inputs[0], operator.inputs[1]];
        let [of, tokens] = [self.tokens_of(operator, 0)?, self.tokens_of(operator, 1)?];
        let starts = self.starts_for(at, operator, of, tokens)?;
        let positions = self.name(index);
        let positions = self.flat(at, positions, program.ty(index));
        let numbers =
            self.emit(at, Binary { kind: BinaryKind::Add }, &[&positions, &starts], &list(DType::I64));
        let out = program.var(operator.outputs[0]);
        let name = self.take(at, self.name(x), numbers, &out.ty, &out.name);
        self.names.insert(operator.outputs[0], name);
        Ok(())
    }

    /// PaddlePaddle numbers the tokens of all sequences together.
    pub(super) fn sequence_where(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let [of, tokens] = [self.tokens_of(operator, 0)?, self.tokens_of(operator, 1)?];
        let starts = self.starts_for(at, operator, of, tokens)?;
        let (name, ty) = (self.name(operator.inputs[0]), program.ty(operator.inputs[0]));
        let condition = self.flat(at, name, ty);
        let column = Type { dims: vec![Dim::from(1)], ..program.ty(operator.outputs[0]).clone() };
        let found = self.declare(at, "where_index", &column);
        let desc = OpDesc::new("where_index").with_input("Condition", [condition]);
        self.push(at, desc.with_output("Out", [found.clone()]));
        let found = self.flat(at, found, &column);
        let sub = Binary { kind: BinaryKind::Sub };
        let positions = self.emit(at, sub, &[&found, &starts], program.ty(operator.outputs[0]));
        self.names.insert(operator.outputs[0], positions);
        Ok(())
    }

    pub(super) fn sequence_concat(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let out = program.ty(operator.outputs[0]);
        let mut inputs = Vec::with_capacity(2);
        for &input in &operator.inputs[..2] {
            let x = self.with_offsets(at, input);
            let x = self.in_columns(at, operator, x, program.ty(input))?;
            inputs.push(x);
        }
        let concat = OpDesc::new("sequence_concat").with_input("X", inputs);
        let mut found = self.declare(at, "sequence_concat", &at_least_column(out));
        self.push(at, concat.with_output("Out", [found.clone()]));
        if out.dims.is_empty() {
            found = self.reshaped(at, operator, found, &at_least_column(out), out)?;
        }
        self.names.insert(operator.outputs[0], found);
        Ok(())
    }

    /// The elements of the sequences keep their order.
    pub(super) fn sequence_reshape(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let (from, to) = (program.ty(operator.inputs[0]), program.ty(operator.outputs[0]));
        let dims = to.dims.iter().map(|dim| dim.constant().and_then(|dim| i32::try_from(dim).ok()));
        let Some(shape) = std::iter::once(Some(-1)).chain(dims).collect::<Option<Vec<i32>>>() else {
            return self.refuse(operator, "the sizes of a token have to be numbers");
        };
        let x = self.name(operator.inputs[0]);
        let x = self.reshaped_to(at, x, from, to, shape);
        self.names.insert(operator.outputs[0], x);
        Ok(())
    }

    pub(super) fn sequence_pad(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &SequencePad,
    ) -> Result<(), LegaliseError> {
        let program = self.program;
        let (ty, out) = (program.ty(operator.inputs[0]), program.ty(operator.outputs[0]));
        let Some(places) = op.length.constant().and_then(|length| i32::try_from(length).ok()) else {
            return self.refuse(operator, "the number of places has to be a number");
        };
        let x = self.with_offsets(at, operator.inputs[0]);
        let x = self.in_columns(at, operator, x, ty)?;
        let number = match ty.dtype.is_float() {
            true => Number::Float(op.pad_value),
            false => Number::Int(op.pad_value as i64),
        };
        let value = self.constant(
            at,
            number,
            &Type { rows: None, dims: vec![Dim::from(1)], ..ty.clone() },
            "sequence_pad.value",
        );
        let mut padded = out.clone();
        if ty.dims.is_empty() {
            padded.dims.push(Dim::from(1));
        }
        let mut found = self.declare(at, "sequence_pad", &padded);
        let length =
            self.declare(at, "sequence_pad.length", &Type { rows: out.rows, ..Type::scalar(DType::I64) });
        let pad = OpDesc::new("sequence_pad")
            .with_input("X", [x])
            .with_input("PadValue", [value])
            .with_output("Out", [found.clone()])
            .with_output("Length", [length])
            .with_attr(OpAttr::int("padded_length", places));
        self.push(at, pad);
        if ty.dims.is_empty() {
            found = self.reshaped(at, operator, found, &padded, out)?;
        }
        self.names.insert(operator.outputs[0], found);
        Ok(())
    }

    pub(super) fn sequence_unpad(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let (padded, out) = (program.ty(operator.inputs[0]), program.ty(operator.outputs[0]));
        let tokens = self.tokens_of(operator, 1)?;
        let lengths = self.need(at, operator, tokens, Known::Lengths)?;
        let x = self.name(operator.inputs[0]);
        let x = self.without_offsets(at, x, padded);
        let mut found = self.declare(at, "sequence_unpad", &at_least_column(out));
        let unpad = OpDesc::new("sequence_unpad")
            .with_input("X", [x])
            .with_input("Length", [lengths])
            .with_output("Out", [found.clone()]);
        self.push(at, unpad);
        if out.dims.is_empty() {
            found = self.reshaped(at, operator, found, &at_least_column(out), out)?;
        }
        self.names.insert(operator.outputs[0], found);
        Ok(())
    }
}
