//! Sequences that are made from others: joined, by positions, padded.

use crate::convert::export::LegaliseError;
use crate::convert::to_onnx::graph::Writer;
use crate::convert::to_onnx::row_spaces::Fact;
use crate::ops::{Operator, SequencePad};
use crate::program::{Dim, RowsId, Type};

impl Writer<'_> {
    pub(super) fn sequence_range(&mut self, rows: RowsId, x: &[&str]) -> Result<String, LegaliseError> {
        let lengths = self.flat(x[0]);
        self.note_lengths(rows, lengths);
        self.fact(rows, Fact::Positions)
    }

    /// For each token of other sequences of the same rows, what is known of its row.
    fn of_row(&mut self, of: RowsId, what: Fact, tokens: RowsId) -> Result<String, LegaliseError> {
        let (found, owners) = (self.fact(of, what)?, self.fact(tokens, Fact::Owners)?);
        Ok(self.node("Gather", &[&found, &owners]))
    }

    fn tokens(&self, operator: &Operator, k: usize) -> Result<RowsId, LegaliseError> {
        self.tokens_of(self.program.ty(operator.inputs[k]))
    }

    pub(super) fn sequence_gather(
        &mut self,
        operator: &Operator,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let (of, tokens) = (self.tokens(operator, 0)?, self.tokens(operator, 1)?);
        let starts = self.of_row(of, Fact::Starts, tokens)?;
        let positions = self.flat(x[1]);
        let numbers = self.node("Add", &[&starts, &positions]);
        Ok(self.node("Gather", &[x[0], &numbers]))
    }

    pub(super) fn sequence_where(
        &mut self,
        operator: &Operator,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let (of, tokens) = (self.tokens(operator, 0)?, self.tokens(operator, 1)?);
        let starts = self.of_row(of, Fact::Starts, tokens)?;
        let places = self.places(x[0]);
        Ok(self.node("Sub", &[&places, &starts]))
    }

    pub(super) fn sequence_concat(
        &mut self,
        operator: &Operator,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let [first, second, both] =
            [self.tokens(operator, 0)?, self.tokens(operator, 1)?, self.tokens(operator, 2)?];
        let starts = self.of_row(both, Fact::Starts, first)?;
        let positions = self.fact(first, Fact::Positions)?;
        let of_first = self.node("Add", &[&starts, &positions]);
        let starts = self.of_row(both, Fact::Starts, second)?;
        let lengths = self.of_row(first, Fact::Lengths, second)?;
        let positions = self.fact(second, Fact::Positions)?;
        let behind = self.node("Add", &[&starts, &lengths]);
        let of_second = self.node("Add", &[&behind, &positions]);
        let (values, order) = (self.joined(x[0], x[1]), self.joined(&of_first, &of_second));
        Ok(self.restored(&values, &order))
    }

    /// The elements of the sequences keep their order.
    pub(super) fn sequence_reshape(
        &mut self,
        operator: &Operator,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let ty = self.program.ty(operator.outputs[0]).clone();
        self.reshaped(x[0], &ty)
    }

    /// The places of tokens where each row has `length` of them.
    fn places_of_tokens(&mut self, tokens: RowsId, length: &Dim) -> Result<String, LegaliseError> {
        let (owners, positions) = (self.fact(tokens, Fact::Owners)?, self.fact(tokens, Fact::Positions)?);
        let length = self.size(length)?;
        let begins = self.node("Mul", &[&owners, &length]);
        Ok(self.node("Add", &[&begins, &positions]))
    }

    /// The places of all rows, one behind the other.
    fn listed(&mut self, padded: &Type, length: &Dim) -> Result<Vec<Dim>, LegaliseError> {
        let dims = self.program.shape(padded);
        let Ok(places) = &dims[0] * length else { return self.refuse("its sizes are too large") };
        Ok(std::iter::once(places).chain(dims[2..].iter().cloned()).collect())
    }

    pub(super) fn sequence_pad(
        &mut self,
        operator: &Operator,
        op: &SequencePad,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let tokens = self.tokens(operator, 0)?;
        let out = self.program.ty(operator.outputs[0]).clone();
        let places = self.places_of_tokens(tokens, &op.length)?;
        let listed = self.listed(&out, &op.length)?;
        let shape = self.shape_of(&listed)?;
        let padding = self.filled(&shape, op.pad_value, out.dtype);
        let listed = self.scattered(&padding, &places, x[0]);
        self.reshaped(&listed, &out)
    }

    pub(super) fn sequence_unpad(
        &mut self,
        operator: &Operator,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let tokens = self.tokens(operator, 1)?;
        let padded = self.program.ty(operator.inputs[0]).clone();
        let Some(length) = padded.dims.first().cloned() else {
            return self.refuse("its rows have no places");
        };
        let places = self.places_of_tokens(tokens, &length)?;
        let listed = self.listed(&padded, &length)?;
        let listed = self.reshaped_to(x[0], &listed)?;
        Ok(self.node("Gather", &[&listed, &places]))
    }
}
