//! Sample cases of operators.

use std::ops::Range;

use crate::ops::{Op, Program};
use crate::program::{DType, RowsId, Type, VarId};

/// One input of a sample. The test draws its values.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleInput {
    /// Element type.
    pub dtype: DType,
    /// The number of rows, if the input has rows. If the rows are tokens, the number of tokens.
    pub rows: Option<usize>,
    /// The number of tokens of each sequence, if the rows are tokens.
    pub lengths: Option<Vec<usize>>,
    /// An earlier input with whose tokens this input has its values, if it has no sequences of its own.
    pub tokens_of: Option<usize>,
    /// An earlier input to whose tokens the sequences of this input belong. `None` if they belong to the rows of the
    /// batch.
    pub within_tokens: Option<usize>,
    /// The dimensions behind the rows.
    pub dims: Vec<i64>,
    /// The range from which values are drawn; integers are whole numbers in it.
    pub range: (f64, f64),
}

impl SampleInput {
    /// The offsets of the sequences, if the rows are tokens.
    pub fn offsets(&self) -> Option<Vec<i64>> {
        let lengths = self.lengths.as_ref()?;
        let ends = lengths.iter().scan(0, |end, &length| {
            *end += length as i64;
            Some(*end)
        });
        Some(std::iter::once(0).chain(ends).collect())
    }
}

/// An operator on inputs of given shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The operator.
    pub op: Op,
    /// The inputs of its program.
    pub inputs: Vec<SampleInput>,
    /// For each slot of the operator, the number of its input.
    pub slots: Vec<usize>,
}

impl Sample {
    /// A sample of `op` without inputs.
    pub fn of(op: impl Into<Op>) -> Self {
        Sample { op: op.into(), inputs: Vec::new(), slots: Vec::new() }
    }

    /// Adds a floating-point input of this many rows.
    pub fn rows(self, rows: usize, dims: &[i64]) -> Self {
        self.push(Some(rows), None, dims)
    }

    /// Adds a floating-point input of sequences of these lengths, one for each row.
    pub fn sequences(self, lengths: &[usize], dims: &[i64]) -> Self {
        self.push(Some(lengths.iter().sum()), Some(lengths.to_vec()), dims)
    }

    /// Adds a floating-point input of sequences of these lengths, one for each token of input `k`.
    pub fn sequences_in(mut self, k: usize, lengths: &[usize], dims: &[i64]) -> Self {
        self = self.sequences(lengths, dims);
        if let Some(input) = self.inputs.last_mut() {
            input.within_tokens = Some(k);
        }
        self
    }

    /// Adds a floating-point input that has the tokens of the sequences of input `k`.
    pub fn tokens_of(mut self, k: usize, dims: &[i64]) -> Self {
        let SampleInput { rows, lengths, within_tokens, .. } = self.inputs[k].clone();
        self = self.push(rows, lengths, dims);
        if let Some(input) = self.inputs.last_mut() {
            (input.tokens_of, input.within_tokens) = (Some(k), within_tokens);
        }
        self
    }

    /// Adds a floating-point input without rows.
    pub fn dense(self, dims: &[i64]) -> Self {
        self.push(None, None, dims)
    }

    fn push(mut self, rows: Option<usize>, lengths: Option<Vec<usize>>, dims: &[i64]) -> Self {
        let (dtype, dims) = (DType::F32, dims.to_vec());
        self.slots.push(self.inputs.len());
        let (tokens_of, within_tokens, range) = (None, None, (-2.0, 2.0));
        self.inputs.push(SampleInput { dtype, rows, lengths, tokens_of, within_tokens, dims, range });
        self
    }

    /// Adds an input that has the rows of the first one, and these dimensions behind them.
    pub fn like(self, dims: &[i64]) -> Self {
        match self.inputs.first().and_then(|input| input.rows) {
            Some(rows) => self.rows(rows, dims),
            None => self.dense(dims),
        }
    }

    /// Sets the range of the last input.
    pub fn within(mut self, low: f64, high: f64) -> Self {
        if let Some(input) = self.inputs.last_mut() {
            input.range = (low, high);
        }
        self
    }

    /// Sets the element type of the last input.
    pub fn dtype(mut self, dtype: DType) -> Self {
        if let Some(input) = self.inputs.last_mut() {
            input.dtype = dtype;
        }
        self
    }

    /// The number of rows of the batch, if an input has rows or sequences.
    pub fn batch(&self) -> Option<usize> {
        let inputs = self.inputs.iter().filter(|input| input.within_tokens.is_none());
        inputs.into_iter().find_map(|input| match &input.lengths {
            Some(lengths) => Some(lengths.len()),
            None => input.rows,
        })
    }

    /// The inputs that have sequences of their own.
    pub fn sequences_of_their_own(&self) -> impl Iterator<Item = &SampleInput> {
        self.inputs.iter().filter(|input| input.lengths.is_some() && input.tokens_of.is_none())
    }

    /// The sizes of the row spaces of its program, in the order of their ids: the batch, then the tokens of each input
    /// that has sequences of its own.
    pub fn row_counts(&self) -> Vec<usize> {
        let tokens = self.sequences_of_their_own().filter_map(|input| input.rows);
        self.batch().into_iter().chain(tokens).collect()
    }

    /// The operator on inputs that every operator has to bear: a batch without rows, one row, the same value in two
    /// slots, and ids that are all the same.
    pub fn variants(&self) -> Vec<Sample> {
        // Ranges do not matter in samples without rows.
        let has_rows = self.batch().is_some_and(|rows| rows > 0);
        let batches = [self.with_rows(false), self.with_rows(true)];
        let batches = batches.into_iter().filter(|_| has_rows);
        batches.chain(self.same_ids()).chain(self.same_inputs()).filter(|variant| variant != self).collect()
    }

    /// The sample with a single row, or with none. With sequences, the row is the one with the longest, as lengths may
    /// depend on each other.
    fn with_rows(&self, one: bool) -> Sample {
        let lengths = self.inputs.iter().find_map(|input| input.lengths.as_ref());
        let longest = lengths.and_then(|lengths| (0..lengths.len()).max_by_key(|&row| lengths[row]));
        let row = longest.unwrap_or(0);
        self.of_rows(if one { row..row + 1 } else { row..row }).0
    }

    /// The sample with these rows of the batch, and the rows or tokens that are left of each input.
    pub fn of_rows(&self, rows: Range<usize>) -> (Sample, Vec<Range<usize>>) {
        let mut sample = self.clone();
        let mut left: Vec<Range<usize>> = Vec::with_capacity(self.inputs.len());
        for (input, was) in sample.inputs.iter_mut().zip(&self.inputs) {
            let parents = input.within_tokens.map_or(rows.clone(), |of| left[of].clone());
            left.push(match (&mut input.lengths, input.rows) {
                (Some(lengths), _) => {
                    let lengths_before = was.lengths.iter().flatten();
                    let start: usize = lengths_before.take(parents.start).sum();
                    *lengths = lengths.get(parents.clone()).unwrap_or_default().to_vec();
                    start..start + lengths.iter().sum::<usize>()
                }
                (None, Some(_)) => parents,
                (None, None) => 0..0,
            });
            input.rows = input.rows.map(|_| left.last().map_or(0, Range::len));
        }
        (sample, left)
    }

    fn same_ids(&self) -> Option<Sample> {
        let mut sample = self.clone();
        let ids = |input: &&mut SampleInput| matches!(input.dtype, DType::I32 | DType::I64);
        let mut has_ids = false;
        for input in sample.inputs.iter_mut().filter(ids) {
            has_ids = true;
            input.range.1 = input.range.0 + 1.0;
        }
        has_ids.then_some(sample)
    }

    /// Samples in which a slot takes the value of an earlier slot, if the same values fit and the operator changes
    /// neither.
    fn same_inputs(&self) -> Vec<Sample> {
        let is_changed = |k| self.op.operation().input(k).is_changed;
        let mut samples = Vec::new();
        for (k, input) in self.inputs.iter().enumerate() {
            let same = |&j: &usize| {
                let other = &self.inputs[j];
                let ty = |input: &SampleInput| {
                    (input.dtype, input.rows, input.lengths.clone(), input.within_tokens, input.dims.clone())
                };
                let overlap = input.range.0.max(other.range.0) < input.range.1.min(other.range.1);
                let are_tokens = input.tokens_of.is_some() || other.tokens_of.is_some();
                let of = input.tokens_of.unwrap_or(k) == other.tokens_of.unwrap_or(j);
                ty(input) == ty(other) && overlap && !is_changed(j) && (of || !are_tokens)
            };
            let Some(j) = (0..k).find(same).filter(|_| !is_changed(k)) else {
                continue;
            };
            let mut sample = self.clone();
            let SampleInput { range: (low, high), .. } = sample.inputs.remove(k);
            let range = &mut sample.inputs[j].range;
            *range = (range.0.max(low), range.1.min(high));
            let owner = sample.inputs[j].tokens_of.unwrap_or(j);
            let now = |input: usize, instead: usize| match input {
                same if same == k => instead,
                later if later > k => later - 1,
                earlier => earlier,
            };
            sample.slots.iter_mut().for_each(|slot| *slot = now(*slot, j));
            for input in &mut sample.inputs {
                let owners = input.tokens_of.iter_mut().chain(&mut input.within_tokens);
                owners.for_each(|of| *of = now(*of, owner));
            }
            samples.push(sample);
        }
        samples
    }

    /// A program that applies the operator to inputs of these shapes and returns every output.
    pub fn program(&self) -> Result<Program, crate::program::BuildError> {
        let mut program = Program::new();
        let mut batch: Option<RowsId> = None;
        let mut inputs = Vec::new();
        for (i, input) in self.inputs.iter().enumerate() {
            let mut ty = Type::new(input.dtype, input.dims.iter().copied());
            if input.rows.is_some() {
                let batch = *batch.get_or_insert_with(|| program.create_rows("_"));
                ty.rows = match (&input.lengths, input.tokens_of) {
                    (Some(_), Some(of)) => program.ty(inputs[of]).rows,
                    (Some(_), None) => {
                        let parent = input.within_tokens.and_then(|of| program.ty(inputs[of]).rows);
                        Some(program.create_tokens(&format!("x{i}"), parent.unwrap_or(batch)))
                    }
                    (None, _) => Some(batch),
                };
            }
            inputs.push(program.create_input(&format!("x{i}"), ty)?);
        }
        let inputs: Vec<VarId> = self.slots.iter().map(|&input| inputs[input]).collect();
        let outputs = program.append_op(Program::GLOBAL, self.op.clone(), &inputs, Default::default())?;
        program.set_outputs(&outputs)?;
        Ok(program)
    }
}
