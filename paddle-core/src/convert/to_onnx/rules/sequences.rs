//! Operators that work along sequences.

use crate::convert::export::LegaliseError;
use crate::convert::to_onnx::graph::Writer;
use crate::convert::to_onnx::row_spaces::Fact;
use crate::ops::{Operator, PoolType, SequencePool, SequenceWindow};
use crate::program::{DType, Dim, RowsId, Type};
use crate::wire::onnx::AttributeProto;

/// A distance that no sequence has.
const FAR: i64 = 1 << 48;

/// The most tokens of a window, each of which is a few operators.
const MOST_PARTS: i64 = 1 << 12;

impl Writer<'_> {
    /// Sums or maxima over the rows of `x` that belong to each of the rows `to`, which have the numbers `owners`. `first` is
    /// what they begin with.
    fn reduced_rows(
        &mut self,
        x: &str,
        owners: &str,
        to: &Type,
        reduction: &str,
        first: f64,
    ) -> Result<String, LegaliseError> {
        let shape = self.shape(to)?;
        let begin = self.filled(&shape, first, to.dtype);
        let places = self.unsqueezed(owners, &[1]);
        Ok(self.scatter_nd(reduction, &[&begin, &places, x]))
    }

    /// The tokens of an operator's input, and the rows to which their sequences belong.
    fn sequences(&self, operator: &Operator, k: usize) -> Result<(RowsId, Option<RowsId>), LegaliseError> {
        let tokens = self.tokens_of(self.program.ty(operator.inputs[k]))?;
        Ok((tokens, self.program.rows_of_whole_sequences(tokens)))
    }

    /// One number for each row, as wide as values on these rows.
    fn beside(&mut self, numbers: &str, ty: &Type) -> String {
        let axes: Vec<i64> = (1..=ty.dims.len() as i64).collect();
        if axes.is_empty() { numbers.to_string() } else { self.unsqueezed(numbers, &axes) }
    }

    pub(super) fn sequence_expand_as(
        &mut self,
        operator: &Operator,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let (tokens, _) = self.sequences(operator, 1)?;
        let owners = self.fact(tokens, Fact::Owners)?;
        Ok(self.node("Gather", &[x[0], &owners]))
    }

    pub(super) fn sequence_length(&mut self, operator: &Operator) -> Result<String, LegaliseError> {
        let (tokens, _) = self.sequences(operator, 0)?;
        let lengths = self.fact(tokens, Fact::Lengths)?;
        let out = self.program.ty(operator.outputs[0]).clone();
        if out.dims.is_empty() { Ok(lengths) } else { self.reshaped(&lengths, &out) }
    }

    pub(super) fn sequence_pool(
        &mut self,
        operator: &Operator,
        op: &SequencePool,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let (tokens, _) = self.sequences(operator, 0)?;
        let out = self.program.ty(operator.outputs[0]).clone();
        let lengths = self.fact(tokens, Fact::Lengths)?;
        let owners = self.fact(tokens, Fact::Owners)?;
        let (none, one) = (self.int(0), self.int(1));
        let is_empty = self.node("Equal", &[&lengths, &none]);
        let found = match op.pooltype {
            PoolType::Sum | PoolType::Average | PoolType::Sqrt => {
                let sums = self.reduced_rows(x[0], &owners, &out, "add", 0.0)?;
                let count = self.node("Max", &[&lengths, &one]);
                let count = self.cast(&count, out.dtype);
                let count = self.beside(&count, &out);
                match op.pooltype {
                    PoolType::Sum => sums,
                    PoolType::Average => self.node("Div", &[&sums, &count]),
                    _ => {
                        let root = self.node("Sqrt", &[&count]);
                        self.node("Div", &[&sums, &root])
                    }
                }
            }
            PoolType::Max => self.reduced_rows(x[0], &owners, &out, "max", f64::NEG_INFINITY)?,
            PoolType::First | PoolType::Last => {
                let starts = self.fact(tokens, Fact::Starts)?;
                let at = match op.pooltype {
                    PoolType::First => starts,
                    _ => {
                        let ends = self.node("Add", &[&starts, &lengths]);
                        self.node("Sub", &[&ends, &one])
                    }
                };
                // Sequences without tokens take what is appended.
                let own = self.program.ty(operator.inputs[0]).clone();
                let longer = self.with_last(x[0], &own, op.pad_value)?;
                let count = self.count_scalar(tokens)?;
                let at = self.node("Where", &[&is_empty, &count, &at]);
                return Ok(self.node("Gather", &[&longer, &at]));
            }
        };
        let pad = self.number(op.pad_value, out.dtype);
        let is_empty = self.beside(&is_empty, &out);
        Ok(self.node("Where", &[&is_empty, &pad, &found]))
    }

    /// `x` with one row more, of one number.
    fn with_last(&mut self, x: &str, ty: &Type, number: f64) -> Result<String, LegaliseError> {
        let dims: Vec<Dim> = std::iter::once(Dim::from(1)).chain(ty.dims.iter().cloned()).collect();
        let shape = self.shape_of(&dims)?;
        let last = match ty.dtype {
            DType::Bool => {
                let number = self.filled(&shape, number, DType::I32);
                self.cast(&number, DType::Bool)
            }
            dtype => self.filled(&shape, number, dtype),
        };
        Ok(self.joined(x, &last))
    }

    pub(super) fn sequence_reverse(
        &mut self,
        operator: &Operator,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let (tokens, _) = self.sequences(operator, 0)?;
        let (lengths, starts) = (self.fact(tokens, Fact::Lengths)?, self.fact(tokens, Fact::Starts)?);
        let (owners, positions) = (self.fact(tokens, Fact::Owners)?, self.fact(tokens, Fact::Positions)?);
        let one = self.int(1);
        let ends = self.node("Add", &[&starts, &lengths]);
        let last = self.node("Sub", &[&ends, &one]);
        let last = self.node("Gather", &[&last, &owners]);
        let numbers = self.node("Sub", &[&last, &positions]);
        Ok(self.node("Gather", &[x[0], &numbers]))
    }

    pub(super) fn sequence_softmax(
        &mut self,
        operator: &Operator,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let (tokens, rows) = self.sequences(operator, 0)?;
        let ty = self.program.ty(operator.outputs[0]).clone();
        let of_rows = Type { rows, ..ty.clone() };
        let owners = self.fact(tokens, Fact::Owners)?;
        let largest = self.reduced_rows(x[0], &owners, &of_rows, "max", f64::NEG_INFINITY)?;
        let largest = self.node("Gather", &[&largest, &owners]);
        let below = self.node("Sub", &[x[0], &largest]);
        let powers = self.node("Exp", &[&below]);
        let sums = self.reduced_rows(&powers, &owners, &of_rows, "add", 0.0)?;
        let sums = self.node("Gather", &[&sums, &owners]);
        Ok(self.node("Div", &[&powers, &sums]))
    }

    pub(super) fn sequence_window(
        &mut self,
        operator: &Operator,
        op: &SequenceWindow,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        if op.length > MOST_PARTS {
            return self.refuse(format!("windows of more than {MOST_PARTS} tokens are not exported"));
        }
        let (tokens, _) = self.sequences(operator, 0)?;
        let ty = self.program.ty(operator.inputs[0]).clone();
        let (lengths, owners) = (self.fact(tokens, Fact::Lengths)?, self.fact(tokens, Fact::Owners)?);
        let (starts, positions) = (self.fact(tokens, Fact::Starts)?, self.fact(tokens, Fact::Positions)?);
        let [lengths, starts] = [lengths, starts].map(|of| self.node("Gather", &[&of, &owners]));
        let longer = self.with_last(x[0], &ty, op.pad_value)?;
        let count = self.count_scalar(tokens)?;
        let zero = self.int(0);
        let mut parts = Vec::new();
        for k in 0..op.length {
            // Beyond every sequence is far enough.
            let away = self.int(op.start.saturating_add(k).clamp(-FAR, FAR));
            let at = self.node("Add", &[&positions, &away]);
            let is_behind = self.node("GreaterOrEqual", &[&at, &zero]);
            let is_before = self.node("Less", &[&at, &lengths]);
            let is_in = self.node("And", &[&is_behind, &is_before]);
            let number = self.node("Add", &[&starts, &at]);
            let number = self.node("Where", &[&is_in, &number, &count]);
            let part = self.node("Gather", &[&longer, &number]);
            parts.push(if ty.dims.is_empty() { self.unsqueezed(&part, &[1]) } else { part });
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Ok(self.concat(1, &parts))
    }

    /// For each pair, the number of the token that it belongs to, and of the one whose position it has.
    fn pairs(
        &mut self,
        operator: &Operator,
        [of, with, index]: [usize; 3],
        x: &[&str],
    ) -> Result<[String; 2], LegaliseError> {
        let (pairs, _) = self.sequences(operator, index)?;
        let ((of, _), (with, _)) = (self.sequences(operator, of)?, self.sequences(operator, with)?);
        let own = self.fact(pairs, Fact::Owners)?;
        let rows = self.fact(of, Fact::Owners)?;
        let rows = self.node("Gather", &[&rows, &own]);
        let starts = self.fact(with, Fact::Starts)?;
        let starts = self.node("Gather", &[&starts, &rows]);
        let positions = self.flat(x[index]);
        let other = self.node("Add", &[&starts, &positions]);
        Ok([own, other])
    }

    /// `X`, `Y`, `Index`.
    pub(super) fn sequence_product(
        &mut self,
        operator: &Operator,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let [own, other] = self.pairs(operator, [0, 1, 2], x)?;
        let (first, second) = (self.node("Gather", &[x[0], &own]), self.node("Gather", &[x[1], &other]));
        let products = self.node("Mul", &[&first, &second]);
        let last = self.ints(&[-1]);
        Ok(self.node_with("ReduceSum", &[&products, &last], [AttributeProto::int("keepdims", 0)]))
    }

    /// `W`, `Y`, `Index`, `X`: sums on the tokens of `X`.
    pub(super) fn sequence_weigh(
        &mut self,
        operator: &Operator,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let [own, other] = self.pairs(operator, [3, 1, 2], x)?;
        self.weighted(operator, x[0], x[1], &other, &own)
    }

    /// `W`, `X`, `Index`, `Y`: sums on the tokens of `Y`.
    pub(super) fn sequence_spread(
        &mut self,
        operator: &Operator,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let [own, other] = self.pairs(operator, [1, 3, 2], x)?;
        self.weighted(operator, x[0], x[1], &own, &other)
    }

    fn weighted(
        &mut self,
        operator: &Operator,
        weights: &str,
        values: &str,
        from: &str,
        to: &str,
    ) -> Result<String, LegaliseError> {
        let out = self.program.ty(operator.outputs[0]).clone();
        let weights = self.unsqueezed(weights, &[-1]);
        let values = self.node("Gather", &[values, from]);
        let products = self.node("Mul", &[&weights, &values]);
        self.reduced_rows(&products, to, &out, "add", 0.0)
    }
}
