//! Sequences by numbers: their lengths, their beginnings, and the tokens that belong to some of the rows.
//!
//! PaddlePaddle's operators that move whole sequences fail if one is empty, or if tokens have sequences of their own.
//! So a part of the sequences is represented by the list of its tokens' numbers, and `gather` moves the values.

use super::Legaliser;
use super::row_spaces::Known;
use super::sequences::lod_reset;
use crate::ops::{Binary, BinaryKind, Concat, CumSum, Fill, Number, PoolType, Scale, SequencePool};
use crate::program::{DType, Dim, RowsId, Type};
use crate::wire::{OpAttr, OpDesc};

/// Running sums that include each number itself.
const SUMS: CumSum = CumSum { axis: 0, exclusive: false, reverse: false };

/// A list of whole numbers.
pub(super) fn list(dtype: DType) -> Type {
    Type { dims: vec![Dim::from(-1)], ..Type::scalar(dtype) }
}

impl Legaliser<'_> {
    /// The lengths of sequences, twice: as the sum of a one for each token, and as whole numbers. If the sequences
    /// belong to tokens, the first variable keeps the offsets of these tokens' sequences.
    pub(super) fn lengths(
        &mut self,
        at: usize,
        rows: RowsId,
        tokens: &str,
        count: String,
    ) -> (String, String) {
        let program = self.program;
        let parent = program.rows_of_whole_sequences(rows);
        let one_each = Type::with_rows(DType::F64, rows, [1]);
        let ones = self.declare(at, "sequence_length.ones", &one_each);
        let ones_of = Fill { value: Number::Float(1.0), ty: one_each.clone() };
        self.fill_rows(at, count, &ones_of, vec![-1, 1], ones.clone());
        let ones = self.step(at, lod_reset(tokens.to_string()), ones, &one_each);
        let pool = SequencePool { pooltype: PoolType::Sum, pad_value: 0.0 };
        let sum = self.pool_tokens(at, &pool, ones, &one_each, "sequence_length.sum");
        let summed = Type { rows: parent, ..one_each };
        let column = summed.with_dtype(DType::I64);
        let lengths = self.cast(at, sum.clone(), &summed, DType::I64);
        let flat = Type { dims: Vec::new(), ..column.clone() };
        (sum, self.reshaped_to(at, lengths, &column, &flat, vec![-1]))
    }

    /// For each number, the sum of the numbers before it.
    pub(super) fn sums_before(&mut self, at: usize, x: String) -> String {
        self.sums(at, CumSum { exclusive: true, ..SUMS }, x, &list(DType::I64))
    }

    /// The numbers of rows. There are as many rows as `count` has.
    pub(super) fn numbers_of_rows(&mut self, at: usize, count: String, rows: RowsId) -> String {
        let ty = Type::with_rows(DType::I64, rows, []);
        let ones = self.declare(at, "fill_constant_batch_size_like", &ty);
        self.fill_rows(at, count, &Fill { value: Number::Int(1), ty }, vec![-1], ones.clone());
        self.sums_before(at, ones)
    }

    /// The bounds of sequences with these lengths, in the form that `lod_reset` takes.
    pub(super) fn bounds(&mut self, at: usize, lengths: String) -> String {
        let ends = self.sums(at, SUMS, lengths, &list(DType::I64));
        let zero = self.constant(at, Number::Int(0), &Type::new(DType::I64, [1]), "zero");
        let bounds = self.emit(at, Concat { axis: 0 }, &[&zero, &ends], &list(DType::I64));
        self.cast(at, bounds, &list(DType::I64), DType::I32)
    }

    /// Notes the lengths, beginnings and tokens of the part `rows` of the sequences `of`. Beginnings are counted within
    /// the part.
    pub(super) fn part(&mut self, at: usize, rows: RowsId, of: RowsId) -> Option<()> {
        let program = self.program;
        let (outside, inside) = (program.row_space(of).parent?, program.row_space(rows).parent?);
        let ty = Type::with_rows(DType::I64, outside, []);
        let mut own = Vec::with_capacity(2);
        for (what, called) in [(Known::Starts, "starts"), (Known::Lengths, "lengths")] {
            let all = self.known(at, of, what)?;
            own.push(match outside == inside {
                true => all,
                false => self.moved(at, all, &ty, inside, called)?,
            });
        }
        let [starts, lengths] = [own[0].clone(), own[1].clone()];
        // A token's distance from the first one of its sequence is its position in the list, minus the position there
        // at which the sequence begins.
        let begins = self.sums_before(at, lengths.clone());
        let sub = Binary { kind: BinaryKind::Sub };
        let shift = self.emit(at, sub, &[&starts, &begins], &list(DType::I64));
        let numbers = self.spread(at, shift, lengths.clone());
        for (what, name) in [(Known::Starts, begins), (Known::Lengths, lengths), (Known::Numbers, numbers)] {
            self.note(at, rows, what, name);
        }
        Some(())
    }

    /// Repeats the number of each row once for each of its tokens.
    pub(super) fn repeated(&mut self, at: usize, x: String, lengths: String) -> String {
        let out = self.declare(at, "repeat_interleave", &list(DType::I64));
        let repeat = OpDesc::new("repeat_interleave")
            .with_input("X", [x])
            .with_input("RepeatsTensor", [lengths])
            .with_output("Out", [out.clone()])
            .with_attr(OpAttr::int("dim", 0))
            .with_attr(OpAttr::int("Repeats", 0));
        self.push(at, repeat);
        out
    }

    /// For each token, the number of its row plus the number of tokens before it.
    pub(super) fn spread(&mut self, at: usize, x: String, lengths: String) -> String {
        let each = self.repeated(at, x, lengths.clone());
        let places = self.numbers_of_tokens(at, lengths);
        self.emit(at, Binary { kind: BinaryKind::Add }, &[&each, &places], &list(DType::I64))
    }

    /// The numbers of the tokens that change places with them if each sequence is turned round: the first number of the
    /// sequence plus the last one, minus its own.
    pub(super) fn reversed(&mut self, at: usize, starts: String, lengths: String) -> String {
        let numbers = list(DType::I64);
        let twice = self.emit(at, Scale { scale: 2.0, bias: -1.0 }, &[&starts], &numbers);
        let both = self.emit(at, Binary { kind: BinaryKind::Add }, &[&twice, &lengths], &numbers);
        let each = self.repeated(at, both, lengths.clone());
        let places = self.numbers_of_tokens(at, lengths);
        self.emit(at, Binary { kind: BinaryKind::Sub }, &[&each, &places], &numbers)
    }

    /// The numbers of all tokens of sequences with these lengths.
    fn numbers_of_tokens(&mut self, at: usize, lengths: String) -> String {
        let ends = self.sums(at, SUMS, lengths, &list(DType::I64));
        let count = self.sliced(at, ends, &Type::new(DType::I64, [1]), -1, i32::MAX);
        self.numbers_below(at, count)
    }

    /// The numbers from 0 to below `count`.
    pub(super) fn numbers_below(&mut self, at: usize, count: String) -> String {
        let one = Type::new(DType::I64, [1]);
        let [start, step] = [0, 1].map(|number| self.constant(at, Number::Int(number), &one, "range.bound"));
        let out = self.declare(at, "range", &list(DType::I64));
        let range = OpDesc::new("range")
            .with_input("Start", [start])
            .with_input("End", [count])
            .with_input("Step", [step])
            .with_output("Out", [out.clone()]);
        self.push(at, range);
        out
    }

    /// The rows of a value, sorted by numbers, which are all different.
    pub(super) fn sorted(
        &mut self,
        at: usize,
        x: String,
        numbers: String,
        ty: &Type,
        called: &str,
    ) -> String {
        let [sorted, order] =
            ["argsort.sorted", "argsort"].map(|name| self.declare(at, name, &list(DType::I64)));
        let argsort = OpDesc::new("argsort")
            .with_input("X", [numbers])
            .with_output("Out", [sorted])
            .with_output("Indices", [order.clone()])
            .with_attr(OpAttr::int("axis", 0))
            .with_attr(OpAttr::bool("descending", false));
        self.push(at, argsort);
        self.take(at, x, order, ty, called)
    }

    /// Joins two variables.
    pub(super) fn joined(&mut self, at: usize, [first, second]: [&String; 2], ty: &Type) -> String {
        self.emit(at, Concat { axis: 0 }, &[first, second], ty)
    }
}
