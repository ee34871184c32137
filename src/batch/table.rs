//! The table of a batch: for each input of a network, the values of all rows.

use std::borrow::Borrow;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArrayBase, Data, Dimension};
use paddle_core::memory::{OutOfMemory, TryGrow, try_collect};
use paddle_core::plan::{Feed, HostSlice, OffsetsError, check_levels};

use super::row::{Cell, Column, Columns, Row};
use super::{BatchError, Shape};
use crate::element::{Element, Values};
use crate::model::{Signature, Variable};

/// A size that no row has determined yet.
const UNBOUND: usize = usize::MAX;

/// The error for an input whose values find no memory.
fn of_input(spec: &Variable, error: OutOfMemory) -> BatchError {
    BatchError::OutOfMemory(error.wanted_for(format_args!("input `{}` of a batch", spec.name)))
}

/// The values of one input.
#[derive(Debug)]
pub(crate) struct InputValues {
    pub(crate) values: Values,
    /// The shape. The first dimension is that of the batch, if the input has rows; for sequences, that of the tokens.
    shape: Vec<usize>,
    /// For sequences, the offsets of each level, the outermost first. The offsets of a level count the sequences of the
    /// next one, and those of the last level count tokens; the last offset is the total.
    offsets: Vec<Vec<i64>>,
    /// Whether there are values.
    set: bool,
}

impl InputValues {
    fn new(spec: &Variable) -> Self {
        let shape = Vec::with_capacity(spec.dims.len() + 1);
        InputValues {
            values: Values::new(spec.dtype),
            shape,
            offsets: vec![Vec::new(); spec.levels],
            set: false,
        }
    }

    /// Removes the values and keeps their memory.
    fn clear(&mut self, spec: &Variable) {
        self.values.clear();
        self.shape.clear();
        self.shape.extend(spec.batched.then_some(0));
        self.shape.extend(spec.dims.iter().map(|dim| dim.unwrap_or(UNBOUND)));
        for offsets in &mut self.offsets {
            offsets.clear();
            offsets.push(0);
        }
        self.set = false;
    }

    /// The dimensions behind that of the batch.
    fn dims<'a>(&'a self, spec: &Variable) -> &'a [usize] {
        &self.shape[usize::from(spec.batched)..]
    }

    /// Whether dimension `depth` of a value may have the length `len`. The first row determines sizes that the network
    /// leaves open.
    pub(super) fn bind(&mut self, spec: &Variable, depth: usize, len: usize) -> Result<bool, OutOfMemory> {
        if let Some(offsets) = self.offsets.get_mut(depth) {
            let end = offsets.last().copied().unwrap_or(0) + len as i64;
            offsets.try_push(end)?;
            if depth + 1 == spec.levels {
                self.shape[0] += len;
            }
            return Ok(true);
        }
        Ok(match self.shape.get_mut(usize::from(spec.batched) + depth - spec.levels) {
            Some(size) if *size == UNBOUND => {
                *size = len;
                true
            }
            Some(size) => *size == len,
            // `[1]` is accepted for a scalar.
            None => len == 1,
        })
    }

    /// Appends the value of one row.
    pub(super) fn push<C: Column>(
        &mut self,
        spec: &Variable,
        row: usize,
        column: &C,
    ) -> Result<(), BatchError> {
        if C::DTYPE != spec.dtype {
            let (input, found) = (spec.name.clone(), C::DTYPE);
            return Err(BatchError::Type { input, found, expected: spec.dtype });
        }
        let before = (self.values.len(), self.shape.first().copied().unwrap_or(0));
        let mut cell = Cell { spec, values: self, depth: 0, fits: true, error: None };
        column.write(&mut cell);
        let (fits, error) = (cell.fits, cell.error);
        self.settle(spec, row, before, fits, error, &|dims| column.dims(dims))
    }

    /// Checks the value of one row that was appended behind `before` elements and tokens. `fits` and `error` are what
    /// its cell found, and `dims` appends its dimensions.
    fn settle(
        &mut self,
        spec: &Variable,
        row: usize,
        (before, tokens): (usize, usize),
        fits: bool,
        error: Option<OutOfMemory>,
        dims: &dyn Fn(&mut Vec<usize>),
    ) -> Result<(), BatchError> {
        if let Some(error) = error {
            let what = format_args!("input `{}` of a batch, up to row {row}", spec.name);
            return Err(BatchError::OutOfMemory(error.wanted_for(what)));
        }
        let items = if spec.levels > 0 { self.shape[0] - tokens } else { 1 };
        // An empty `Vec` does not determine the sizes of its items. An empty sequence does not have to.
        for size in self.shape.iter_mut().filter(|size| **size == UNBOUND && items > 0) {
            *size = 0;
        }
        let count: usize = if items == 0 { 0 } else { items * self.dims(spec).iter().product::<usize>() };
        if !fits || self.values.len() - before != count {
            return Err(self.misfit(spec, row, dims));
        }
        self.set = true;
        if spec.levels > 0 {
            // The offsets were recorded with the arrays.
        } else if spec.batched {
            self.shape[0] = row + 1;
        } else if row > 0 {
            if !self.values.repeats(before) {
                return Err(BatchError::RowsDiffer { input: spec.name.clone(), first: 0, second: row });
            }
            self.values.truncate(before);
        }
        Ok(())
    }

    /// The error for a column that does not fit: its shape is wrong, or differs from that of the first row.
    fn misfit(&self, spec: &Variable, row: usize, write: &dyn Fn(&mut Vec<usize>)) -> BatchError {
        let (input, mut dims) = (spec.name.clone(), Vec::new());
        write(&mut dims);
        // A sequence may have any number of tokens.
        let whole = Shape(dims);
        let found = Shape(whole.0.get(spec.levels..).unwrap_or_default().to_vec());
        let declared = found.0.len() == spec.dims.len()
            && spec.dims.iter().zip(&found.0).all(|(dim, size)| dim.is_none_or(|dim| dim == *size));
        if declared && row > 0 {
            let first = Shape(self.dims(spec).to_vec());
            return BatchError::Ragged { input, row, found, first };
        }
        if spec.levels > 0 {
            return BatchError::Tokens { input, row, found: whole, expected: spec.shown.clone() };
        }
        BatchError::Shape { input, row: Some(row), found, expected: spec.shown.clone() }
    }

    /// Sets the values of all rows at once; for sequences, with the offsets.
    fn set<T, S, D>(
        &mut self,
        spec: &Variable,
        array: &ArrayBase<S, D>,
        offsets: &[&[usize]],
    ) -> Result<(), BatchError>
    where
        T: Element,
        S: Data<Elem = T>,
        D: Dimension,
    {
        self.clear(spec);
        let wrong =
            |error| BatchError::Offsets { input: spec.name.clone(), expected: spec.shown.clone(), error };
        match (spec.levels, offsets.len()) {
            (0, 0) => {}
            (0, _) => return Err(wrong(OffsetsError::Unexpected)),
            (_, 0) => return Err(wrong(OffsetsError::Missing)),
            (expected, found) if expected != found => {
                return Err(wrong(OffsetsError::Levels { found, expected }));
            }
            _ => {
                for (to, offsets) in self.offsets.iter_mut().zip(offsets) {
                    to.clear();
                    // An offset too large for `i64` is out of range in any case, so it may become any large number.
                    to.try_extend(offsets.iter().map(|&at| i64::try_from(at).unwrap_or(i64::MAX)))
                        .map_err(|error| of_input(spec, error))?;
                }
                let tokens = array.shape().first().copied().unwrap_or(0);
                check_levels(&self.offsets, tokens).map_err(wrong)?;
            }
        }
        let Some(vector) = T::of_mut(&mut self.values) else {
            let input = spec.name.clone();
            return Err(BatchError::Type { input, found: T::DTYPE, expected: spec.dtype });
        };
        let behind = array.shape().get(usize::from(spec.batched)..);
        let fits = behind.is_some_and(|behind| {
            let same = |(dim, size): (&Option<usize>, &usize)| dim.is_none_or(|dim| dim == *size);
            let ones = |dims: &[Option<usize>]| dims.iter().all(|&dim| dim == Some(1));
            let exact = behind.len() == spec.dims.len() && spec.dims.iter().zip(behind).all(same);
            // An element is accepted for `[1]`, and `[1]` for an element, as in rows.
            exact || (behind.is_empty() && ones(&spec.dims)) || (behind == [1] && spec.dims.is_empty())
        });
        if !fits {
            let (input, found) = (spec.name.clone(), Shape(array.shape().to_vec()));
            return Err(BatchError::Shape { input, row: None, found, expected: spec.shown.clone() });
        }
        let copied = match array.as_slice() {
            Some(slice) => vector.try_extend_from_slice(slice),
            None => vector.try_extend(array.iter().copied()),
        };
        copied.map_err(|error| of_input(spec, error))?;
        let mut sizes = array.shape().iter().copied();
        let mut next = || sizes.next().unwrap_or(1);
        self.shape.iter_mut().for_each(|size| *size = next());
        self.set = true;
        Ok(())
    }

    /// Gives all rows the value of the first one.
    fn repeat_first(&mut self, spec: &Variable, rows: usize) -> Result<(), OutOfMemory> {
        let of_row: usize = self.dims(spec).iter().product();
        // At each level, the first row's part is repeated.
        let mut items = 1;
        for offsets in &mut self.offsets {
            let of_first = offsets[items];
            offsets.truncate(items + 1);
            offsets.try_grow((rows - 1).saturating_mul(items))?;
            for row in 1..rows as i64 {
                for at in 1..=items {
                    offsets.push(row * of_first + offsets[at]);
                }
            }
            items = of_first as usize;
        }
        self.shape[0] = rows * items;
        self.values.repeat_first(items * of_row, rows)
    }

    /// A copy.
    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let copy = |offsets: &Vec<i64>| try_collect(offsets.iter().copied());
        Ok(InputValues {
            values: self.values.try_clone()?,
            shape: self.shape.clone(),
            offsets: self.offsets.iter().map(copy).collect::<Result<_, _>>()?,
            set: self.set,
        })
    }
}

/// The columns of a batch of a network.
#[derive(Debug)]
pub struct Table {
    pub(crate) signature: Arc<Signature>,
    inputs: Vec<InputValues>,
}

impl Table {
    pub(crate) fn new(signature: &Arc<Signature>) -> Self {
        let mut inputs: Vec<_> = signature.inputs.iter().map(InputValues::new).collect();
        inputs.iter_mut().zip(&signature.inputs).for_each(|(values, spec)| values.clear(spec));
        Table { signature: Arc::clone(signature), inputs }
    }

    pub(crate) fn clear(&mut self) {
        self.inputs.iter_mut().zip(&self.signature.inputs).for_each(|(values, spec)| values.clear(spec));
    }

    /// Replaces the values by those of `rows`. After an error the table is empty.
    pub(crate) fn fill<R: Row>(
        &mut self,
        rows: impl IntoIterator<Item: Borrow<R>>,
    ) -> Result<(), BatchError> {
        self.clear();
        let filled = self.append(rows);
        if filled.is_err() {
            self.clear();
        }
        filled
    }

    fn append<R: Row>(&mut self, rows: impl IntoIterator<Item: Borrow<R>>) -> Result<(), BatchError> {
        let expected = self.inputs.len();
        for (number, row) in rows.into_iter().enumerate() {
            let (specs, inputs) = (&self.signature.inputs[..], &mut self.inputs[..]);
            let mut columns = Columns { specs, inputs, row: number, count: 0, error: None };
            row.borrow().write(&mut columns);
            let found = columns.count;
            if let Some(error) = columns.error {
                return Err(error);
            }
            if found != expected {
                return Err(BatchError::Columns { found, inputs: self.signature.input_names() });
            }
        }
        // Without rows, values and sizes that only rows determine are not known.
        for (values, spec) in self.inputs.iter_mut().zip(&self.signature.inputs) {
            values.set = values.set || (spec.batched && !values.shape.contains(&UNBOUND));
        }
        Ok(())
    }

    pub(crate) fn set<T, S, D>(
        &mut self,
        input: &str,
        array: &ArrayBase<S, D>,
        offsets: &[&[usize]],
    ) -> Result<(), BatchError>
    where
        T: Element,
        S: Data<Elem = T>,
        D: Dimension,
    {
        let at = self.signature.inputs.iter().position(|spec| spec.name == input);
        let Some(at) = at else {
            return Err(BatchError::NoSuchInput {
                input: input.to_string(),
                inputs: self.signature.input_names(),
            });
        };
        let set = self.inputs[at].set(&self.signature.inputs[at], array, offsets);
        if set.is_err() {
            self.inputs[at].clear(&self.signature.inputs[at]);
        }
        set
    }

    /// The number of rows, if every input has a value and all inputs have the same number of rows. A network without
    /// inputs of the batch has one row.
    pub(crate) fn rows(&self) -> Result<usize, BatchError> {
        let mut rows = None;
        for (values, spec) in self.inputs.iter().zip(&self.signature.inputs) {
            if !values.set {
                return Err(BatchError::NoValue { input: spec.name.clone(), expected: spec.shown.clone() });
            }
            if spec.batched {
                let found = values.offsets.first().map_or(values.shape[0], |offsets| offsets.len() - 1);
                let &mut (first, expected) = rows.get_or_insert((&spec.name, found));
                if found != expected {
                    let (input, first) = (spec.name.clone(), first.clone());
                    return Err(BatchError::Rows { input, found, first, expected });
                }
            }
        }
        Ok(rows.map_or(1, |(_, rows)| rows))
    }

    /// A copy whose input `k` has the first row's value in all rows; `None` if they have it already, or if the input
    /// has no rows. Errors as [`rows`](Self::rows) does.
    pub(crate) fn with_first(&self, k: usize) -> Result<Option<Self>, BatchError> {
        let (rows, spec) = (self.rows()?, &self.signature.inputs[k]);
        if !spec.batched || rows == 0 {
            return Ok(None);
        }
        let mut table = self.try_clone()?;
        let (ours, theirs) = (&mut table.inputs[k], &self.inputs[k]);
        ours.repeat_first(spec, rows).map_err(|error| of_input(spec, error))?;
        let differs = ours.offsets != theirs.offsets || !ours.values.has_bits_of(&theirs.values);
        Ok(differs.then_some(table))
    }

    /// A copy.
    pub(crate) fn try_clone(&self) -> Result<Self, BatchError> {
        let copy =
            |(values, spec): (&InputValues, _)| values.try_clone().map_err(|error| of_input(spec, error));
        let inputs = self.inputs.iter().zip(&self.signature.inputs).map(copy).collect::<Result<_, _>>()?;
        Ok(Table { signature: Arc::clone(&self.signature), inputs })
    }

    /// The number of inputs.
    pub(crate) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether input `k` has the rows of the batch, or tokens that belong to them.
    pub(crate) fn has_rows(&self, k: usize) -> bool {
        self.signature.inputs[k].batched
    }

    /// A range of the elements of input `k`. Panics if it is out of bounds.
    pub(crate) fn part(&self, k: usize, elements: Range<usize>) -> HostSlice<'_> {
        self.inputs[k].values.part(elements)
    }

    /// The values of input `k`, to be fed.
    pub(crate) fn feed(&self, k: usize) -> Feed<'_> {
        let input = &self.inputs[k];
        Feed { values: input.values.as_slice(), shape: &input.shape, offsets: &input.offsets }
    }
}
