//! Sequences that are made from others: joined, by positions, padded.

use super::row_spaces::Known;
use super::sequence_positions::list;
use super::{LegaliseError, Legaliser};
use crate::ops::{Binary, BinaryKind, Operator, Scale};
use crate::program::{DType, Dim, RowsId, Type};
use crate::wire::OpDesc;

impl Legaliser<'_> {
    /// One number for each row, without other dimensions.
    pub(super) fn flat(&mut self, at: usize, x: String, ty: &Type) -> String {
        match ty.dims.is_empty() {
            true => x,
            false => self.reshaped_to(at, x, ty, &Type { dims: Vec::new(), ..ty.clone() }, vec![-1]),
        }
    }

    /// The row space of an operand's tokens, which have to be stored in the order of the sequences.
    pub(super) fn tokens_of(&self, operator: &Operator, k: usize) -> Result<RowsId, LegaliseError> {
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

    /// The tokens of both are joined, and sorted by the places that they have in the result.
    pub(super) fn sequence_concat(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let tokens = |k: usize| self.tokens_of(operator, k);
        let [first, second, both] = [tokens(0)?, tokens(1)?, tokens(2)?];
        let (add, sub) = (Binary { kind: BinaryKind::Add }, Binary { kind: BinaryKind::Sub });
        let numbers = list(DType::I64);
        let mut begins = self.need(at, operator, both, Known::Starts)?;
        let mut places = Vec::with_capacity(2);
        for of in [first, second] {
            let starts = self.need(at, operator, of, Known::Starts)?;
            let lengths = self.need(at, operator, of, Known::Lengths)?;
            let shift = self.emit(at, sub, &[&begins, &starts], &numbers);
            places.push(self.spread(at, shift, lengths.clone()));
            begins = self.emit(at, add, &[&begins, &lengths], &numbers);
        }
        let out = self.program.var(operator.outputs[0]);
        let mut values = Vec::with_capacity(2);
        for &input in &operator.inputs[..2] {
            let name = self.name(input);
            values.push(self.without_offsets(at, name, self.program.ty(input)));
        }
        let values = self.joined(at, [&values[0], &values[1]], &out.ty);
        let order = self.joined(at, [&places[0], &places[1]], &numbers);
        let sorted = self.sorted(at, values, order, &out.ty, &out.name);
        self.names.insert(operator.outputs[0], sorted);
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
}
