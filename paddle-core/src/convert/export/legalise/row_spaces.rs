//! Rows: how values come into a block that runs on some of them, and the variables that describe row spaces.
//!
//! | rows of the block | operators that bring a value from outside |
//! | --- | --- |
//! | of a branch, or still in a `while` | `gather`, by the places at which a mask is true or false |
//! | still in a `for` | `gather` in the order of lengths before the loop, and of the first ones in it |
//! | tokens that come to an iteration of a `for` | `gather`, by the beginnings of the sequences plus the number of the iteration |
//! | sequences of these rows | `gather`, by the numbers of their tokens |
//! | tokens in the order of iterations | none: they stay in the order of the sequences |

use super::sequence_positions::list;
use super::sequences::lod_reset;
use super::{LegaliseError, Legaliser, mask_type};
use crate::convert::to_wire::constants::fill_value;
use crate::convert::to_wire::operators::describe;
use crate::convert::types::element;
use crate::ops::{Cast, Number, Op, Operator};
use crate::program::{DType, RowOrigin, RowsId, Type, VarId};
use crate::wire::{OpAttr, OpDesc};

/// What a variable tells about a row space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Known {
    /// The number of rows, or of sequences if the variable has offsets. `fill_constant_batch_size_like` counts these.
    Count,
    /// The tokens, with the offsets of their sequences.
    Offsets,
    /// The tokens, with the offsets of their sequences and those of all sequences around them, outermost first.
    Levels,
    /// The bounds of sequences, i32: the number of tokens before each, and the number of all tokens.
    Bounds,
    /// The number of tokens in the sequence of each row.
    Lengths,
    /// The number of tokens before the sequence of each row.
    Starts,
    /// The numbers that the tokens have among those from which they are taken.
    Numbers,
}

/// How the rows of a block are chosen from those around it.
#[derive(Clone, Debug)]
pub(super) enum Chosen {
    /// All rows.
    All,
    /// The rows on one side of a mask.
    Mask {
        /// The variable of the mask.
        mask: String,
        /// The side: whether the mask is true for the rows.
        side: bool,
    },
    /// The rows whose sequences have a token left, longest first.
    Longest {
        /// The block around the loop.
        outside: usize,
        /// The numbers of the rows, longest first.
        order: String,
        /// The places of these rows in that order: the first ones.
        first: String,
        /// The number of the token that each of them has in this iteration.
        tokens: String,
    },
}

/// The end of all rows, as PaddlePaddle writes it.
pub(super) const END: i32 = i32::MAX;

impl Legaliser<'_> {
    /// Brings a value from outside into a block.
    pub(super) fn gather(
        &mut self,
        at: usize,
        operator: &Operator,
        rows: RowsId,
    ) -> Result<(), LegaliseError> {
        let program = self.program;
        let (x, out) = (operator.inputs[0], operator.outputs[0]);
        let called = &program.var(out).name;
        match self.moved(at, self.name(x), program.ty(x), rows, called) {
            Some(name) => self.names.insert(out, name),
            None => return self.refuse(operator, "nothing that is exported says which rows these are"),
        };
        Ok(())
    }

    /// A value in the order of the sequences is stored in that order already.
    pub(super) fn scatter(&mut self, operator: &Operator) -> Result<(), LegaliseError> {
        let name = self.name(operator.inputs[0]);
        self.names.insert(operator.outputs[0], name);
        Ok(())
    }

    /// Notes what an input tells about its rows, and about the rows to which its sequences belong.
    pub(super) fn input(&mut self, at: usize, var: VarId) {
        let program = self.program;
        let Some(mut rows) = program.ty(var).rows else { return };
        let mut name = self.name(var);
        self.note(at, rows, Known::Levels, name.clone());
        while let Some(parent) = program.rows_of_whole_sequences(rows) {
            if self.find(at, parent, Known::Count).is_none() {
                self.note(at, parent, Known::Count, name.clone());
            }
            if self.find(at, rows, Known::Offsets).is_some() || self.find(at, rows, Known::Lengths).is_some()
            {
                return;
            }
            if program.rows_of_whole_sequences(parent).is_none() {
                self.note(at, rows, Known::Offsets, name);
                return;
            }
            // If offsets have several levels, those of the last one are computed, and the others belong to the counted
            // rows.
            let count = self.without_offsets(at, name.clone(), program.ty(var));
            self.note(at, rows, Known::Count, count.clone());
            let (outer, lengths) = self.lengths(at, rows, &name, count);
            self.note(at, rows, Known::Lengths, lengths);
            (name, rows) = (outer, parent);
        }
        if self.find(at, rows, Known::Count).is_none() {
            self.note(at, rows, Known::Count, name);
        }
    }

    /// Notes what a variable tells.
    pub(super) fn note(&mut self, at: usize, rows: RowsId, what: Known, name: String) {
        self.known.entry(rows).or_default().push((what, at, name));
    }

    /// Notes how the rows of the next block are chosen. A condition is written twice.
    pub(super) fn enter(&mut self, rows: RowsId, chosen: Chosen) {
        if self.chosen.insert(rows, chosen).is_some() {
            self.forget(rows);
        }
    }

    /// Forgets the notes about rows, and about sequences that belong to them.
    pub(super) fn forget(&mut self, rows: RowsId) {
        let program = self.program;
        self.known.retain(|&of, _| {
            std::iter::successors(Some(of), |&of| program.rows_of_whole_sequences(of)).all(|of| of != rows)
        });
    }

    /// Notes the tokens of sequences that an operator makes, and their lengths.
    pub(super) fn make(&mut self, at: usize, rows: RowsId, tokens: String, lengths: String) {
        if self.known.contains_key(&rows) {
            self.forget(rows);
        }
        self.note(at, rows, Known::Count, tokens);
        self.note(at, rows, Known::Lengths, lengths);
    }

    fn find(&self, at: usize, rows: RowsId, what: Known) -> Option<String> {
        let noted = self.known.get(&rows)?.iter().rev();
        noted
            .filter(|noted| noted.0 == what)
            .find(|noted| self.is_within(at, noted.1))
            .map(|noted| noted.2.clone())
    }

    /// Whether a block is `outer`, or is in it.
    fn is_within(&self, at: usize, outer: usize) -> bool {
        let parent = |&at: &usize| usize::try_from(self.blocks[at].parent_idx).ok();
        std::iter::successors(Some(at), parent).any(|at| at == outer)
    }

    /// A variable that tells something about a row space, if there is one or it can be computed in the block `at`.
    pub(super) fn known(&mut self, at: usize, rows: RowsId, what: Known) -> Option<String> {
        let rows = self.program.before_loops(rows);
        if let Some(name) = self.find(at, rows, what) {
            return Some(name);
        }
        let has = |what| self.find(at, rows, what).is_some();
        let name = match (what, self.program.row_space(rows).origin) {
            (Known::Lengths, RowOrigin::Tokens) if has(Known::Offsets) => {
                let tokens = self.known(at, rows, Known::Offsets)?;
                let count = self.known(at, rows, Known::Count)?;
                self.lengths(at, rows, &tokens, count).1
            }
            (Known::Starts, RowOrigin::Tokens) if has(Known::Offsets) || has(Known::Lengths) => {
                let lengths = self.known(at, rows, Known::Lengths)?;
                self.sums_before(at, lengths)
            }
            (Known::Bounds, RowOrigin::Tokens | RowOrigin::Part { .. }) => {
                let lengths = self.known(at, rows, Known::Lengths)?;
                self.bounds(at, lengths)
            }
            (Known::Offsets, RowOrigin::Tokens) if !has(Known::Count) || !has(Known::Lengths) => return None,
            (Known::Offsets, RowOrigin::Tokens | RowOrigin::Part { .. }) => {
                let tokens = self.known(at, rows, Known::Count)?;
                let bounds = self.known(at, rows, Known::Bounds)?;
                self.step(at, lod_reset(bounds), tokens, &Type::with_rows(DType::I64, rows, []))
            }
            (Known::Count, RowOrigin::Tokens | RowOrigin::Part { .. }) if has(Known::Offsets) => {
                let tokens = self.known(at, rows, Known::Offsets)?;
                self.without_offsets(at, tokens, &Type::with_rows(DType::F32, rows, []))
            }
            (Known::Count, RowOrigin::Part { .. }) => self.known(at, rows, Known::Numbers)?,
            (Known::Lengths | Known::Starts | Known::Numbers, RowOrigin::Part { of }) => {
                self.part(at, rows, of)?;
                return self.known(at, rows, what);
            }
            (Known::Count, RowOrigin::Fixed(count)) => {
                let rows = Type::new(DType::F32, [i64::from(count)]);
                self.constant(at, Number::Float(0.0), &rows, "rows")
            }
            (Known::Count, RowOrigin::Active { steps }) => {
                let lengths = self.known(at, steps, Known::Lengths)?;
                let ty = Type { rows: self.program.source_of(rows), ..Type::scalar(DType::I64) };
                self.moved(at, lengths, &ty, rows, "lengths")?
            }
            _ => return None,
        };
        self.note(at, rows, what, name.clone());
        Some(name)
    }

    /// A variable that tells something about a row space. Without one, the operator is refused.
    pub(super) fn need(
        &mut self,
        at: usize,
        operator: &Operator,
        rows: RowsId,
        what: Known,
    ) -> Result<String, LegaliseError> {
        match self.known(at, rows, what) {
            Some(name) => Ok(name),
            None => {
                let name = &self.program.row_space(rows).name;
                self.refuse(operator, format!("no input has the rows of `{name}`"))
            }
        }
    }

    /// A value on rows of a block, if these are known. The value has rows outside of the block, or of all iterations of
    /// a loop.
    pub(super) fn moved(
        &mut self,
        at: usize,
        x: String,
        ty: &Type,
        to: RowsId,
        called: &str,
    ) -> Option<String> {
        let program = self.program;
        let out = Type { rows: Some(to), ..ty.clone() };
        if program.is_reordered(to) {
            return Some(x);
        }
        if let RowOrigin::Part { .. } = program.row_space(to).origin {
            let numbers = self.known(at, to, Known::Numbers)?;
            return Some(self.take(at, x, numbers, &out, called));
        }
        match self.chosen.get(&to).cloned()? {
            Chosen::All => Some(x),
            Chosen::Mask { mask, side } => {
                let [yes, no] = self.sides(at, &mask);
                Some(self.take(at, x, if side { yes } else { no }, &out, called))
            }
            Chosen::Longest { outside, order, first, tokens } => {
                let rows_of_iterations = program.steps_of_loop(to);
                if rows_of_iterations.is_some() && rows_of_iterations == ty.rows {
                    return Some(self.take(at, x, tokens, &out, called));
                }
                // The work is done before the loop, if the value is there.
                let is_outside = self.homes.get(&x).is_some_and(|&home| self.is_within(outside, home));
                let sorted = format!("{called}.longest_first");
                let x = self.take(if is_outside { outside } else { at }, x, order, ty, &sorted);
                Some(self.take(at, x, first, &out, called))
            }
        }
    }

    /// The numbers of the rows on both sides of a mask.
    pub(super) fn sides(&mut self, at: usize, mask: &str) -> [String; 2] {
        if let Some(sides) = self.sides.get(&(at, mask.to_string())) {
            return sides.clone();
        }
        let truth = list(DType::Bool);
        let yes = self.reshaped_to(at, mask.to_string(), &mask_type(None), &truth, vec![-1]);
        let no = self.step(at, OpDesc::new("logical_not"), yes.clone(), &truth);
        let sides = [yes, no].map(|side| self.places(at, side));
        self.sides.insert((at, mask.to_string()), sides.clone());
        sides
    }

    /// The numbers of the elements of a list that are true, as a column.
    pub(super) fn places(&mut self, at: usize, truth: String) -> String {
        let out = self.declare(at, "where_index", &Type::new(DType::I64, [-1, 1]));
        let places =
            OpDesc::new("where_index").with_input("Condition", [truth]).with_output("Out", [out.clone()]);
        self.push(at, places);
        out
    }

    /// Merges the rows of both sides of a mask.
    pub(super) fn merge(
        &mut self,
        at: usize,
        mask: &str,
        [yes, no]: [String; 2],
        ty: &Type,
        called: &str,
    ) -> String {
        let sides = self.sides(at, mask);
        let both = self.joined(at, [&yes, &no], ty);
        let numbers = self.joined(at, [&sides[0], &sides[1]], &Type::new(DType::I64, [-1, 1]));
        let numbers =
            self.reshaped_to(at, numbers, &Type::new(DType::I64, [-1, 1]), &list(DType::I64), vec![-1]);
        self.sorted(at, both, numbers, ty, called)
    }

    /// The rows with these numbers. PaddlePaddle does not gather truth values.
    pub(super) fn take(&mut self, at: usize, x: String, numbers: String, ty: &Type, called: &str) -> String {
        let is_truth = ty.dtype == DType::Bool;
        let number = ty.with_dtype(if is_truth { DType::I32 } else { ty.dtype });
        let x = if is_truth { self.cast(at, x, ty, DType::I32) } else { x };
        let out = self.declare(at, if is_truth { "gather" } else { called }, &number);
        let gather = OpDesc::new("gather")
            .with_input("X", [x])
            .with_input("Index", [numbers])
            .with_output("Out", [out.clone()])
            .with_attr(OpAttr::int("axis", 0));
        self.push(at, gather);
        if is_truth { self.cast(at, out, &number, DType::Bool) } else { out }
    }

    pub(super) fn cast(&mut self, at: usize, x: String, from: &Type, to: DType) -> String {
        let out = self.declare(at, "cast", &from.with_dtype(to));
        let op: Op = Cast { dtype: to }.into();
        self.push(at, describe(&op, &[x], std::slice::from_ref(&out), &[from]));
        out
    }

    /// A copy of a variable without offsets. If PaddlePaddle finds offsets, it splits and reorders whole sequences
    /// instead of rows.
    pub(super) fn without_offsets(&mut self, at: usize, x: String, ty: &Type) -> String {
        if !self.program.is_sequence(ty) {
            return x;
        }
        self.sliced(at, x, ty, 0, END)
    }

    /// The part of a variable from `start` to `end` along the first dimension. It has no offsets.
    pub(super) fn sliced(&mut self, at: usize, x: String, ty: &Type, start: i32, end: i32) -> String {
        let out = self.declare(at, "slice", ty);
        let slice = OpDesc::new("slice")
            .with_input("Input", [x])
            .with_output("Out", [out.clone()])
            .with_attr(OpAttr::ints("axes", [0]))
            .with_attr(OpAttr::ints("starts", [start]))
            .with_attr(OpAttr::ints("ends", [end]))
            .with_attr(OpAttr::ints("infer_flags", [1]))
            .with_attr(OpAttr::ints("decrease_axis", []));
        self.push(at, slice);
        out
    }

    /// The number of rows, i32.
    pub(super) fn count_of(&mut self, at: usize, x: String, ty: &Type) -> String {
        self.size_of(at, x, ty, 0)
    }

    /// The size of an axis, i32.
    pub(super) fn size_of(&mut self, at: usize, x: String, ty: &Type, axis: i32) -> String {
        let shape = self.declare(at, "shape", &Type::new(DType::I32, [ty.rank() as i64]));
        self.push(at, OpDesc::new("shape").with_input("Input", [x]).with_output("Out", [shape.clone()]));
        self.sliced(at, shape, &Type::new(DType::I32, [1]), axis, axis + 1)
    }

    /// The rows of `x` behind its first ones, of which there are as many as `first` has.
    pub(super) fn behind(&mut self, at: usize, x: String, first: String, ty: &Type) -> String {
        let count = self.count_of(at, first, ty);
        let out = self.declare(at, "slice", ty);
        let slice = OpDesc::new("slice")
            .with_input("Input", [x])
            .with_input("StartsTensor", [count])
            .with_output("Out", [out.clone()])
            .with_attr(OpAttr::ints("axes", [0]))
            .with_attr(OpAttr::ints("starts", [-1]))
            .with_attr(OpAttr::ints("ends", [END]))
            .with_attr(OpAttr::ints("infer_flags", [-1]))
            .with_attr(OpAttr::ints("decrease_axis", []));
        self.push(at, slice);
        out
    }

    /// A variable with one number, or a list of them.
    pub(super) fn constant(&mut self, at: usize, value: Number, ty: &Type, called: &str) -> String {
        let out = self.declare(at, called, ty);
        let shape = ty.dims.iter().filter_map(|dim| dim.constant()).collect();
        self.fill(at, value, ty.dtype, shape, out.clone());
        out
    }

    /// Fills a variable with a number.
    pub(super) fn fill(&mut self, at: usize, value: Number, dtype: DType, shape: Vec<i64>, out: String) {
        let mut fill = OpDesc::new("fill_constant").with_output("Out", [out]);
        fill.attrs.extend([OpAttr::longs("shape", shape), OpAttr::int("dtype", element(dtype).into())]);
        fill.attrs.extend(fill_value(value));
        self.push(at, fill);
    }
    /// A number in each place of a variable's shape.
    pub(super) fn filled_like(&mut self, at: usize, x: String, ty: &Type, value: Number) -> String {
        let fill = OpDesc::new("fill_any_like")
            .with_attr(OpAttr::float("value", value.as_f64() as f32))
            .with_attr(OpAttr::int("dtype", element(ty.dtype).into()));
        self.step(at, fill, x, ty)
    }
}
