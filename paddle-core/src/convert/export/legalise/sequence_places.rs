//! Sequences in rows of places, and windows of any elements: tokens by their numbers. Where there is no token, the number is that of
//! a row behind all tokens.
//!
//! PaddlePaddle's own operators (`sequence_pad`, `sequence_unpad`, `sequence_enumerate`) are not in its later releases. A sequence
//! with more tokens than there are places is an error of ours, and cut off here.

use super::row_spaces::Known;
use super::sequence_positions::list;
use super::{LegaliseError, Legaliser};
use crate::ops::{Binary, BinaryKind, Fill, Number, Operator, Range, Scale, SequencePad, SequenceWindow};
use crate::program::{DType, Dim, Type};

const ADD: Binary = Binary { kind: BinaryKind::Add };
const SUB: Binary = Binary { kind: BinaryKind::Sub };
const MUL: Binary = Binary { kind: BinaryKind::Mul };

/// Numbers in two dimensions.
fn table() -> Type {
    Type { dims: vec![Dim::from(-1); 2], ..Type::scalar(DType::I64) }
}

impl Legaliser<'_> {
    /// The numbers from `start` on, `count` of them, as a row.
    fn numbers_in_a_row(&mut self, at: usize, start: i64, count: i64) -> String {
        let count = self.constant(at, Number::Int(count), &Type::new(DType::I64, [1]), "count");
        let numbers = self.numbers_below(at, count);
        let row = self.reshaped_to(at, numbers, &list(DType::I64), &table(), vec![1, -1]);
        match start {
            0 => row,
            start => self.emit(at, Scale { scale: 1.0, bias: start as f64 }, &[&row], &table()),
        }
    }

    fn column(&mut self, at: usize, numbers: String) -> String {
        self.reshaped_to(at, numbers, &list(DType::I64), &table(), vec![-1, 1])
    }

    /// `numbers` where they are before `ends`, and not before `begins` if there are such; elsewhere the number of what is behind all
    /// tokens.
    fn within(
        &mut self,
        at: usize,
        numbers: &String,
        begins: Option<&String>,
        ends: &str,
        behind: &String,
    ) -> String {
        let table = table();
        let mut is_in = self.below(at, numbers, ends);
        if let Some(begins) = begins {
            // What is before the beginning is before the end, too.
            let is_early = self.below(at, numbers, begins);
            is_in = self.emit(at, SUB, &[&is_in, &is_early], &table);
        }
        let away = self.emit(at, SUB, &[numbers, behind], &table);
        let away = self.emit(at, MUL, &[&away, &is_in], &table);
        self.emit(at, ADD, &[&away, behind], &table)
    }

    /// 1 where a number is below a bound, and 0 elsewhere.
    fn below(&mut self, at: usize, numbers: &str, bounds: &str) -> String {
        let truth = self.less_than(at, numbers, bounds, &table());
        self.cast(at, truth, &table().with_dtype(DType::Bool), DType::I64)
    }

    /// The tokens of an operand with one row more, of one number, and the number of that row.
    fn with_last(
        &mut self,
        at: usize,
        operator: &Operator,
        number: f64,
    ) -> Result<[String; 2], LegaliseError> {
        let program = self.program;
        let ty = program.ty(operator.inputs[0]);
        let x = self.name(operator.inputs[0]);
        let x = self.without_offsets(at, x, ty);
        let mut last = Type { rows: None, ..ty.clone() };
        last.dims.insert(0, Dim::from(1));
        let number = match ty.dtype {
            DType::Bool => Number::Bool(number != 0.0),
            dtype if dtype.is_float() => Number::Float(number),
            _ => Number::Int(number as i64),
        };
        let last = self.constant_of_size(at, operator, &Fill { value: number, ty: last }, "no_token")?;
        let longer = self.joined(at, [&x, &last], ty);
        let count = self.count_of(at, x, ty);
        let count = self.cast(at, count, &Type::new(DType::I32, [1]), DType::I64);
        Ok([longer, count])
    }

    /// Takes tokens by a table of numbers, and gives them the shape of the result.
    fn take_table(
        &mut self,
        at: usize,
        operator: &Operator,
        x: String,
        numbers: String,
    ) -> Result<(), LegaliseError> {
        let program = self.program;
        let (ty, out) = (program.ty(operator.inputs[0]), program.ty(operator.outputs[0]));
        let numbers = self.reshaped_to(at, numbers, &table(), &list(DType::I64), vec![-1]);
        let taken = self.take(at, x, numbers, ty, "tokens");
        let sizes: Option<Vec<i32>> =
            out.dims.iter().map(|dim| dim.constant().and_then(|size| i32::try_from(size).ok())).collect();
        let found = match sizes {
            Some(sizes) => self.reshaped_to(at, taken, ty, out, std::iter::once(-1).chain(sizes).collect()),
            None => self.reshaped_by_sizes(at, operator, taken, ty, out)?,
        };
        self.names.insert(operator.outputs[0], found);
        Ok(())
    }

    pub(super) fn sequence_pad(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &SequencePad,
    ) -> Result<(), LegaliseError> {
        let tokens = self.tokens_of(operator, 0)?;
        let starts = self.need(at, operator, tokens, Known::Starts)?;
        let lengths = self.need(at, operator, tokens, Known::Lengths)?;
        let [longer, behind] = self.with_last(at, operator, op.pad_value)?;
        let ends = self.emit(at, ADD, &[&starts, &lengths], &list(DType::I64));
        let [starts, ends] = [starts, ends].map(|numbers| self.column(at, numbers));
        let places = match op.length.constant() {
            Some(places) => self.numbers_in_a_row(at, 0, places),
            None => {
                let ty = Type { dims: vec![op.length.clone()], ..list(DType::I64) };
                let range = Range { start: Number::Int(0), step: Number::Int(1), ty };
                let numbers = self.range_of_size(at, operator, &range)?;
                self.reshaped_to(at, numbers, &list(DType::I64), &table(), vec![1, -1])
            }
        };
        let numbers = self.emit(at, ADD, &[&starts, &places], &table());
        let numbers = self.within(at, &numbers, None, &ends, &behind);
        self.take_table(at, operator, longer, numbers)
    }

    pub(super) fn sequence_unpad(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let (padded, out) = (program.ty(operator.inputs[0]), program.var(operator.outputs[0]));
        let tokens = self.tokens_of(operator, 1)?;
        let starts = self.need(at, operator, tokens, Known::Starts)?;
        let lengths = self.need(at, operator, tokens, Known::Lengths)?;
        let x = self.name(operator.inputs[0]);
        let x = self.without_offsets(at, x, padded);
        let Some(rows) = padded.rows else { return self.refuse(operator, "its places belong to no rows") };
        let count = self.need(at, operator, rows, Known::Count)?;
        let rows = self.numbers_of_rows(at, count, rows);
        let places = self.size_of(at, x.clone(), padded, 1);
        let places = self.cast(at, places, &Type::new(DType::I32, [1]), DType::I64);
        let numbers = list(DType::I64);
        let begins = self.emit(at, MUL, &[&rows, &places], &numbers);
        let shift = self.emit(at, SUB, &[&begins, &starts], &numbers);
        let numbers = self.spread(at, shift, lengths);
        let sizes = out.ty.dims.iter().map(|dim| dim.constant().and_then(|size| i32::try_from(size).ok()));
        let Some(sizes) = sizes.collect::<Option<Vec<i32>>>() else {
            return self.refuse(operator, "the sizes of a token have to be numbers");
        };
        let shape = std::iter::once(-1).chain(sizes).collect();
        let listed = self.reshaped_to(at, x, padded, &out.ty, shape);
        let found = self.take(at, listed, numbers, &out.ty, &out.name);
        self.names.insert(operator.outputs[0], found);
        Ok(())
    }

    /// Windows of elements that are not multiplied by filters.
    pub(super) fn windows_by_numbers(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &SequenceWindow,
    ) -> Result<(), LegaliseError> {
        let tokens = self.tokens_of(operator, 0)?;
        let starts = self.need(at, operator, tokens, Known::Starts)?;
        let lengths = self.need(at, operator, tokens, Known::Lengths)?;
        let [longer, behind] = self.with_last(at, operator, op.pad_value)?;
        let numbers = list(DType::I64);
        let ends = self.emit(at, ADD, &[&starts, &lengths], &numbers);
        let none = self.emit(at, SUB, &[&starts, &starts], &numbers);
        let own = self.spread(at, none, lengths.clone());
        let [begins, ends] = [starts, ends].map(|of| self.repeated(at, of, lengths.clone()));
        let [own, begins, ends] = [own, begins, ends].map(|numbers| self.column(at, numbers));
        // No sequence is so long.
        let far = 1 << 40;
        let places = self.numbers_in_a_row(at, op.start.clamp(-far, far), op.length);
        let numbers = self.emit(at, ADD, &[&own, &places], &table());
        let numbers = self.within(at, &numbers, Some(&begins), &ends, &behind);
        self.take_table(at, operator, longer, numbers)
    }
}
