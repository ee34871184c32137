//! What describes row spaces: the lengths of sequences, the numbers of rows that are taken from others.

use super::graph::Writer;
use crate::convert::export::LegaliseError;
use crate::program::{DType, RowOrigin, RowsId, Type};
use crate::wire::onnx::AttributeProto;

/// What a value tells about a row space, in one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fact {
    /// The number of tokens in the sequence of each row.
    Lengths,
    /// The number of tokens before the sequence of each row.
    Starts,
    /// For each token, the number of the row to which its sequence belongs.
    Owners,
    /// For each token, its number in its sequence.
    Positions,
    /// The numbers of the rows among those from which they are taken.
    Numbers,
    /// In an iteration of a loop, the numbers of the tokens that come to its rows.
    Tokens,
}

impl Writer<'_> {
    /// Whether it is known how long the sequences with these tokens are.
    pub(super) fn has_lengths(&self, tokens: RowsId) -> bool {
        self.find(tokens, Fact::Lengths).is_some()
    }

    /// Notes how long the sequences with these tokens are.
    pub(super) fn note_lengths(&mut self, tokens: RowsId, lengths: String) {
        if let Some(rows) = self.program.rows_of_whole_sequences(tokens) {
            self.hold(self.program.row_space(rows).size, &lengths, 0);
        }
        self.note(tokens, Fact::Lengths, lengths);
    }

    /// Gives the lengths of an output's sequences a name.
    pub(super) fn output_lengths(&mut self, tokens: RowsId, called: &str) -> Result<String, LegaliseError> {
        let lengths = self.fact(tokens, Fact::Lengths)?;
        let name = self.free(called);
        self.give(&lengths, &name);
        Ok(name)
    }

    /// Notes what a value tells.
    pub(super) fn note(&mut self, rows: RowsId, what: Fact, name: String) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.facts.insert((rows, what), name);
        }
    }

    fn find(&self, rows: RowsId, what: Fact) -> Option<String> {
        self.scopes.iter().rev().find_map(|scope| scope.facts.get(&(rows, what)).cloned())
    }

    /// A value that tells something about a row space.
    pub(super) fn fact(&mut self, rows: RowsId, what: Fact) -> Result<String, LegaliseError> {
        match self.known(rows, what) {
            Some(name) => Ok(name),
            None => {
                let name = &self.program.row_space(rows).name;
                self.refuse(format!("nothing that is exported has the rows of `{name}`"))
            }
        }
    }

    /// The number of rows, in one dimension, if it follows from what describes them.
    pub(super) fn counted(&mut self, rows: RowsId) -> Option<String> {
        if let Some(numbers) = self.known(rows, Fact::Numbers) {
            return Some(self.node("Shape", &[&numbers]));
        }
        let lengths = self.known(rows, Fact::Lengths)?;
        let axes = self.ints(&[0]);
        Some(self.node_with("ReduceSum", &[&lengths, &axes], [AttributeProto::int("keepdims", 1)]))
    }

    fn known(&mut self, rows: RowsId, what: Fact) -> Option<String> {
        let rows = self.program.before_loops(rows);
        if let Some(name) = self.find(rows, what) {
            return Some(name);
        }
        let origin = self.program.row_space(rows).origin;
        let name = match (what, origin) {
            (Fact::Lengths, RowOrigin::Part { of }) => {
                let lengths = self.known(of, Fact::Lengths)?;
                self.of_sequences(&lengths, rows, of)?
            }
            (Fact::Numbers, RowOrigin::Part { of }) => {
                let starts = self.known(of, Fact::Starts)?;
                let starts = self.of_sequences(&starts, rows, of)?;
                let (owners, positions) =
                    (self.known(rows, Fact::Owners)?, self.known(rows, Fact::Positions)?);
                let begins = self.node("Gather", &[&starts, &owners]);
                self.node("Add", &[&begins, &positions])
            }
            (Fact::Starts, RowOrigin::Tokens | RowOrigin::Part { .. }) => {
                let lengths = self.known(rows, Fact::Lengths)?;
                let axis = self.int(0);
                self.node_with("CumSum", &[&lengths, &axis], [AttributeProto::int("exclusive", 1)])
            }
            (Fact::Owners, RowOrigin::Tokens | RowOrigin::Part { .. }) => self.owners(rows)?,
            (Fact::Positions, RowOrigin::Tokens | RowOrigin::Part { .. }) => {
                let (starts, owners) = (self.known(rows, Fact::Starts)?, self.known(rows, Fact::Owners)?);
                let count = self.node_with("Size", &[&owners], []);
                let numbers = self.numbers_below(&count);
                let begins = self.node("Gather", &[&starts, &owners]);
                self.node("Sub", &[&numbers, &begins])
            }
            _ => return None,
        };
        self.note(rows, what, name.clone());
        Some(name)
    }

    /// What a value tells about the sequences `of`, for those of them that are `rows`.
    fn of_sequences(&mut self, value: &str, rows: RowsId, of: RowsId) -> Option<String> {
        let program = self.program;
        let (from, to) = (
            program.rows_of_whole_sequences(self.program.before_loops(of))?,
            program.rows_of_whole_sequences(rows)?,
        );
        self.found(value, from, to)
    }

    /// For each token, the number of its row: at the beginning of each sequence the number becomes one more.
    fn owners(&mut self, rows: RowsId) -> Option<String> {
        let (lengths, starts) = (self.known(rows, Fact::Lengths)?, self.known(rows, Fact::Starts)?);
        let [axis, zero, one, minus] = [self.int(0), self.ints(&[0]), self.ints(&[1]), self.ints(&[-1])];
        let count = self.node_with("ReduceSum", &[&lengths, &zero], [AttributeProto::int("keepdims", 1)]);
        // Sequences without tokens at the end begin behind all tokens.
        let places = self.node("Add", &[&count, &one]);
        let zeros = self.filled(&places, 0.0, DType::I64);
        let begins = self.unsqueezed(&starts, &[1]);
        let shape = self.node("Shape", &[&starts]);
        let ones = self.filled(&shape, 1.0, DType::I64);
        let add = [AttributeProto::text("reduction", "add")];
        let begun = self.node_with("ScatterND", &[&zeros, &begins, &ones], add);
        let sums = self.node("CumSum", &[&begun, &axis]);
        let numbers = self.node("Add", &[&sums, &minus]);
        Some(self.node("Slice", &[&numbers, &zero, &count]))
    }

    /// A value on rows of a block. It has rows from which those are taken, or, in an iteration, of all iterations together.
    pub(super) fn moved(&mut self, x: &str, from: RowsId, to: RowsId) -> Result<String, LegaliseError> {
        match self.found(x, from, to) {
            Some(name) => Ok(name),
            None => {
                let name = &self.program.row_space(to).name;
                self.refuse(format!("nothing that is exported says which rows `{name}` are"))
            }
        }
    }

    fn found(&mut self, x: &str, from: RowsId, to: RowsId) -> Option<String> {
        let stored = self.program.before_loops(from);
        let mut at = self.program.before_loops(to);
        if at == stored {
            return Some(x.to_string());
        }
        if self.program.steps_of_loop(at) == Some(from) {
            let tokens = self.known(at, Fact::Tokens)?;
            return Some(self.node("Gather", &[x, &tokens]));
        }
        let mut numbers = self.known(at, Fact::Numbers)?;
        loop {
            at = self.program.before_loops(self.program.source_of(at)?);
            if at == stored {
                return Some(self.node("Gather", &[x, &numbers]));
            }
            let of = self.known(at, Fact::Numbers)?;
            numbers = self.node("Gather", &[&of, &numbers]);
        }
    }

    /// The row space of the tokens of a value, in the order in which they are stored.
    pub(super) fn tokens_of(&self, ty: &Type) -> Result<RowsId, LegaliseError> {
        match ty.rows {
            Some(rows) => Ok(self.program.before_loops(rows)),
            None => self.refuse("its operands are no sequences"),
        }
    }

    /// A tensor of one number.
    pub(super) fn filled(&mut self, shape: &str, number: f64, dtype: DType) -> String {
        let value = self.one_number(number, dtype);
        self.node_with("ConstantOfShape", &[shape], [AttributeProto::tensor("value", value)])
    }

    /// `x` with the rows `values` at the places `numbers`.
    pub(super) fn scattered(&mut self, x: &str, numbers: &str, values: &str) -> String {
        let places = self.unsqueezed(numbers, &[1]);
        self.node("ScatterND", &[x, &places, values])
    }

    /// Rows that are at the places `order` of the result, each place once.
    pub(super) fn restored(&mut self, x: &str, order: &str) -> String {
        let count = self.node("Size", &[order]);
        let numbers = self.numbers_below(&count);
        let inverse = self.scattered(order, order, &numbers);
        self.node("Gather", &[x, &inverse])
    }

    /// The places at which truth values are true.
    pub(super) fn places(&mut self, truth: &str) -> String {
        let flat = self.flat(truth);
        let places = self.node("NonZero", &[&flat]);
        self.flat(&places)
    }

    /// Two values, one behind the other.
    pub(super) fn joined(&mut self, first: &str, second: &str) -> String {
        self.node_with("Concat", &[first, second], [AttributeProto::int("axis", 0)])
    }
}
