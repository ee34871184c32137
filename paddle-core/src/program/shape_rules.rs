//! The interface that shape rules are written with.

use std::cell::{LazyCell, RefCell};
use std::fmt;

use super::{Answer, BlockId, Condition, DType, Dim, DimOverflow, OpInterface, Program, RowsId, Type};

/// The kind of a [`Mismatch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MismatchKind {
    /// The element type.
    ElementType,
    /// Dimensions or rank.
    Shape,
    /// Values of different row spaces are combined.
    Rows,
    /// The number of inputs.
    Count,
    /// An attribute's value.
    Attribute,
    /// A value is too large for any memory.
    Size,
    /// A shape changes that has to stay: before and after a loop, or between two branches.
    Change,
}

/// The inputs of an operator do not fit it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The position of the wrong input, if a single input is wrong.
    pub input: Option<usize>,
    /// What kind of mistake it is.
    pub kind: MismatchKind,
    /// Found, expected, and what to do, in the user's names.
    pub message: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mismatch {}

impl From<DimOverflow> for Mismatch {
    fn from(error: DimOverflow) -> Self {
        Mismatch { input: None, kind: MismatchKind::Shape, message: error.to_string() }
    }
}

/// The inputs of an operator, as its shape rule sees them.
pub struct Infer<'a, O> {
    /// The program, for row spaces and the names of symbols.
    pub program: &'a Program<O>,
    /// The operator's name in the user's words.
    pub operator: &'a str,
    /// The inputs' types.
    pub types: &'a [Type],
    /// The inputs' names in the user's words. They are made when a message needs one.
    pub names: LazyCell<Vec<String>, &'a dyn Fn() -> Vec<String>>,
    /// The row space of the block that the operator stands in.
    pub block_rows: Option<RowsId>,
    /// The blocks that the operator owns.
    pub blocks: &'a [BlockId],
    /// The conditions that the rule could not decide, each with its error message.
    pub(crate) checks: RefCell<Vec<(Condition, String)>>,
}

impl<O: OpInterface> Infer<'_, O> {
    /// The type of an input.
    pub fn ty(&self, input: usize) -> &Type {
        &self.types[input]
    }

    /// "`price` is f32[_, 1]".
    pub fn is(&self, input: usize) -> String {
        format!("{} is {}", self.names[input], self.program.show(self.ty(input)))
    }

    /// A mistake that no single input is to blame for.
    pub fn fail(&self, kind: MismatchKind, message: impl Into<String>) -> Mismatch {
        Mismatch { input: None, kind, message: message.into() }
    }

    /// A mistake in an input.
    pub fn wrong(&self, input: usize, kind: MismatchKind, message: impl Into<String>) -> Mismatch {
        Mismatch { input: Some(input), kind, message: message.into() }
    }

    /// Requires that two sizes are equal. If that depends on symbols, it becomes a check of the program.
    pub fn need_equal(&self, a: &Dim, b: &Dim, mismatch: impl FnOnce() -> Mismatch) -> Result<(), Mismatch> {
        self.need(Condition::Equal(a.clone(), b.clone()), mismatch)
    }

    /// Requires that two shapes have equal ranks and equal sizes, as [`need_equal`](Self::need_equal) does.
    pub fn need_equal_dims(
        &self,
        a: &[Dim],
        b: &[Dim],
        mismatch: impl Fn() -> Mismatch,
    ) -> Result<(), Mismatch> {
        if a.len() != b.len() {
            return Err(mismatch());
        }
        a.iter().zip(b).try_for_each(|(a, b)| self.need_equal(a, b, &mismatch))
    }

    /// Requires that a size is greater than 0. If that depends on symbols, it becomes a check of the program.
    pub fn need_positive(&self, size: &Dim, mismatch: impl FnOnce() -> Mismatch) -> Result<(), Mismatch> {
        self.need(Condition::Positive(size.clone()), mismatch)
    }

    /// `size / divisor`. Requires that the division has no remainder.
    pub fn need_quotient(
        &self,
        size: &Dim,
        divisor: &Dim,
        mismatch: impl Fn() -> Mismatch,
    ) -> Result<Dim, Mismatch> {
        let quotient = size.floor_div(divisor).ok_or_else(&mismatch)?;
        self.need_equal(&(&quotient * divisor)?, size, mismatch)?;
        Ok(quotient)
    }

    fn need(&self, condition: Condition, mismatch: impl FnOnce() -> Mismatch) -> Result<(), Mismatch> {
        match self.program.answer(&condition) {
            Answer::Holds => {}
            Answer::Fails => return Err(mismatch()),
            Answer::Depends => self.checks.borrow_mut().push((condition, mismatch().message)),
        }
        Ok(())
    }

    /// Requires an input of a floating-point type.
    pub fn need_float(&self, input: usize) -> Result<(), Mismatch> {
        if self.ty(input).dtype.is_float() {
            return Ok(());
        }
        let message = format!("{}, but `{}` needs floating-point numbers", self.is(input), self.operator);
        Err(self.wrong(input, MismatchKind::ElementType, message))
    }

    /// Requires an input of this element type.
    pub fn need_dtype(&self, input: usize, dtype: DType) -> Result<(), Mismatch> {
        if self.ty(input).dtype == dtype {
            return Ok(());
        }
        let message = format!("{}, but `{}` needs {dtype} here", self.is(input), self.operator);
        Err(self.wrong(input, MismatchKind::ElementType, message))
    }

    /// Requires an input of this type.
    pub fn need_type(&self, input: usize, ty: &Type) -> Result<(), Mismatch> {
        let found = self.ty(input);
        let wrong = || {
            let message =
                format!("{}, but `{}` needs {}", self.is(input), self.operator, self.program.show(ty));
            self.wrong(input, MismatchKind::Shape, message)
        };
        if (found.dtype, found.rows) != (ty.dtype, ty.rows) {
            return Err(wrong());
        }
        self.need_equal_dims(&found.dims, &ty.dims, wrong)
    }

    /// The position of `axis` in [`Type::dims`]. `axis` counts the rows as dimension 0; the axis of the rows itself is
    /// an error.
    pub fn need_axis(&self, input: usize, axis: i64) -> Result<usize, Mismatch> {
        let rows = usize::from(self.ty(input).rows.is_some());
        let position = usize::try_from(axis).ok().filter(|&axis| axis < self.ty(input).rank());
        match position.map(|axis| axis.checked_sub(rows)) {
            Some(Some(at)) => Ok(at),
            Some(None) => {
                let message = format!(
                    "{}, and axis 0 is that of its rows, which `{}` leaves as they are",
                    self.is(input),
                    self.operator
                );
                Err(self.wrong(input, MismatchKind::Attribute, message))
            }
            None => {
                let message = format!("{}, which has no axis {axis}", self.is(input));
                Err(self.wrong(input, MismatchKind::Attribute, message))
            }
        }
    }

    /// Requires an input of numbers, not of truth values.
    pub fn need_number(&self, input: usize) -> Result<(), Mismatch> {
        if self.ty(input).dtype != DType::Bool {
            return Ok(());
        }
        let message = format!("{}, but `{}` needs numbers", self.is(input), self.operator);
        Err(self.wrong(input, MismatchKind::ElementType, message))
    }

    /// Requires an input with at least this many dimensions, without that of the rows.
    pub fn need_dims(&self, input: usize, at_least: usize) -> Result<(), Mismatch> {
        if self.ty(input).dims.len() >= at_least {
            return Ok(());
        }
        let message = format!(
            "{}, but `{}` needs at least {at_least} dimension{} beside the rows",
            self.is(input),
            self.operator,
            if at_least == 1 { "" } else { "s" }
        );
        Err(self.wrong(input, MismatchKind::Shape, message))
    }

    /// Requires two inputs of one element type.
    pub fn same_dtype(&self, a: usize, b: usize) -> Result<(), Mismatch> {
        if self.ty(a).dtype == self.ty(b).dtype {
            return Ok(());
        }
        let message =
            format!("{}, but {}; `{}` needs one element type", self.is(b), self.is(a), self.operator);
        Err(self.wrong(b, MismatchKind::ElementType, message))
    }

    /// The row space that the sequences of an input belong to. Requires that the input has all tokens of these
    /// sequences.
    pub fn need_sequences(&self, input: usize) -> Result<RowsId, Mismatch> {
        let parent = self.ty(input).rows.and_then(|rows| self.program.rows_of_whole_sequences(rows));
        parent.ok_or_else(|| {
            let but = match self.program.is_sequence(self.ty(input)) {
                true => "here only some of its tokens are left",
                false => "its rows are no tokens",
            };
            let message = format!("{}, but `{}` needs whole sequences: {but}", self.is(input), self.operator);
            self.wrong(input, MismatchKind::Rows, message)
        })
    }

    /// The row space that the sequences of two inputs belong to. Requires that both inputs have the same one.
    pub fn need_sequences_of_one(&self, a: usize, b: usize) -> Result<RowsId, Mismatch> {
        let (rows, others) = (self.need_sequences(a)?, self.need_sequences(b)?);
        if rows == others {
            return Ok(rows);
        }
        let message = format!(
            "{}, one for each of {}, but {}, one for each of {}: `{}` needs sequences of the same rows",
            self.is(b),
            self.program.show_rows(others),
            self.is(a),
            self.program.show_rows(rows),
            self.operator
        );
        Err(self.wrong(b, MismatchKind::Rows, message))
    }

    /// The row space of the result of two inputs.
    pub fn common_rows(&self, a: usize, b: usize) -> Result<Option<RowsId>, Mismatch> {
        match (self.ty(a).rows, self.ty(b).rows) {
            (Some(x), Some(y)) if x != y => {
                let message = format!(
                    "{}, but {}: {} and {} do not belong together",
                    self.is(b),
                    self.is(a),
                    self.program.show_rows(y),
                    self.program.show_rows(x),
                );
                Err(self.wrong(b, MismatchKind::Rows, message))
            }
            (Some(rows), _) | (None, Some(rows)) => Ok(Some(rows)),
            (None, None) => Ok(None),
        }
    }

    /// The type that two inputs broadcast to, with the element type of the first. Dimensions are aligned from the last;
    /// 1 matches any size, and rows match rows or 1. A symbol is never taken for 1.
    pub fn broadcast(&self, a: usize, b: usize) -> Result<Type, Mismatch> {
        let rows = self.common_rows(a, b)?;
        let (x, y) = (self.ty(a), self.ty(b));
        let fail = || {
            let message =
                format!("{}, but {}: `{}` needs shapes that agree", self.is(b), self.is(a), self.operator);
            self.wrong(b, MismatchKind::Shape, message)
        };
        if x.rows.is_some() && y.rows.is_some() && x.dims.len() != y.dims.len() {
            return Err(fail());
        }
        // A value without rows broadcasts along the rows of the other one only by a dimension of 1.
        let inner = match (x.rows, y.rows) {
            (Some(_), _) => x.dims.len(),
            (None, Some(_)) => y.dims.len(),
            (None, None) => x.dims.len().max(y.dims.len()),
        };
        let mut outer = [x, y].into_iter().filter(|ty| ty.rows.is_none() && ty.dims.len() > inner);
        if outer.any(|ty| ty.dims.len() > inner + 1 || ty.dims[0].constant() != Some(1)) {
            return Err(fail());
        }
        let from_end = |ty: &Type, i: usize| -> Dim {
            ty.dims.len().checked_sub(i).map_or(Dim::from(1), |at| ty.dims[at].clone())
        };
        let mut dims = Vec::with_capacity(inner);
        for i in (1..=inner).rev() {
            let (p, q) = (from_end(x, i), from_end(y, i));
            dims.push(match (p.constant(), q.constant()) {
                (_, Some(1)) => p,
                (Some(1), _) => q,
                (_, known) => {
                    self.need_equal(&p, &q, fail)?;
                    if known.is_some() { q } else { p }
                }
            });
        }
        Ok(Type { dtype: x.dtype, rows, dims })
    }
}
