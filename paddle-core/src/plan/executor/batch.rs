//! Batches: the sizes and the elements that an executor takes of one.

use super::super::backend::{Backend, HostSlice};
use super::super::code::{Home, Input, KnownOffsets};
use super::super::error::RunError;
use super::super::numbers::{Numbers, first_not_finite};
use super::super::offsets::{OffsetsError, check_levels};
use super::super::profile::PartKind;
use super::super::tape::Tape;
use super::{ARENA, Executor, POOL, PREPARED};
use crate::memory::TryGrow;
use crate::program::{Dim, SymbolId};

/// The value that is fed to one input.
#[derive(Clone, Copy, Debug)]
pub struct Feed<'a> {
    /// The elements, in row-major order.
    pub values: HostSlice<'a>,
    /// The shape. If the input has rows, they are the first dimension.
    pub shape: &'a [usize],
    /// For sequences, the offsets: where each sequence begins among the tokens, which are the rows, and then the
    /// number of tokens. Sequences of sequences have a list for each level, the outermost first. Empty for all other
    /// inputs.
    pub offsets: &'a [Vec<i64>],
}

impl<B: Backend> Executor<B> {
    /// Takes a batch: `feed(i)` is the value of the `i`-th input.
    ///
    /// Errors if an element type or a shape is not that of the input, if two inputs give a named size different
    /// values, if a check of the program does not hold, or if the batch is too large. The executor is then as it was:
    /// another batch may begin, or the same one once there is memory.
    #[inline(never)]
    pub fn begin<'a>(&mut self, feed: &dyn Fn(usize) -> Feed<'a>) -> Result<(), RunError> {
        let from = self.recorder.as_ref().map(|recorder| recorder.now());
        let result = self.take_batch(feed);
        self.record(PartKind::Begin, from);
        result
    }

    fn take_batch<'a>(&mut self, feed: &dyn Fn(usize) -> Feed<'a>) -> Result<(), RunError> {
        self.begun = false;
        self.bind(feed)?;
        if self.bound != self.before || self.layouts.is_empty() {
            self.before.fill(None);
            self.resize()?;
            self.before.copy_from_slice(&self.bound);
        }
        self.state.reset();
        if self.begin_tape().is_err() {
            // Capacities, and the largest loops so far, may need more memory than this batch.
            self.before.fill(None);
            self.state.tapes.iter_mut().for_each(Tape::forget);
            self.add_exact_layout()?;
            self.begin_tape()?;
            self.before.copy_from_slice(&self.bound);
        }
        let Some(layout) = self.layouts.last() else {
            return Err(RunError::NotBegun);
        };
        self.buffers[..PREPARED].iter_mut().for_each(|buffer| self.backend.poison(buffer));
        for (i, input) in self.plan.inputs.iter().enumerate() {
            let Feed { values, offsets, .. } = feed(i);
            if self.plan.numbers == Numbers::Finite
                && let Some((element, found)) = first_not_finite(values)
            {
                let (row, input, step) = (input.row_of(element, &feed(i)), input.name.clone(), self.step);
                return Err(RunError::FedNotFinite { input, row, element, found, step });
            }
            let of_sequences = input.sequences.iter().zip(offsets);
            let of_sequences =
                of_sequences.map(|(sequences, offsets)| (sequences.offsets, HostSlice::I64(offsets)));
            for (slot, values) in [(input.slot, values)].into_iter().chain(of_sequences) {
                let Some(slot) = slot else { continue };
                let memory = match self.plan.slots[slot.0].home {
                    Home::Pool => POOL,
                    _ => ARENA,
                };
                self.backend.upload(values, &mut self.buffers[memory], layout.offsets[slot.0]);
            }
        }
        self.keep_offsets(feed)?;
        self.begun = true;
        Ok(())
    }

    /// Keeps the offsets of fed sequences that are sorted: the lengths say how often loops run.
    fn keep_offsets<'a>(&mut self, feed: &dyn Fn(usize) -> Feed<'a>) -> Result<(), RunError> {
        for (order, kept) in self.plan.orders.iter().zip(&mut self.state.fed) {
            let KnownOffsets::Fed { input, level } = order.known else { continue };
            let offsets = &feed(input).offsets[level];
            let room = kept.try_resize(offsets.len(), 0);
            room.map_err(|error| error.wanted_for("offsets of the sequences that are fed"))?;
            kept.copy_from_slice(offsets);
        }
        Ok(())
    }

    /// Binds the symbols of the inputs' shapes.
    fn bind<'a>(&mut self, feed: &dyn Fn(usize) -> Feed<'a>) -> Result<(), RunError> {
        self.bound.fill(None);
        for &(size, count) in &self.plan.fixed {
            self.bound[size.0 as usize] = Some(count);
        }
        let mismatch = |at: usize, found: &[usize], bound| {
            let input = &self.plan.inputs[at];
            let (name, expected) = (input.name.clone(), input.shown.clone());
            RunError::FeedShape { input: name, expected, found: found.to_vec(), bound }
        };
        for (i, input) in self.plan.inputs.iter().enumerate() {
            let Feed { values, shape, .. } = feed(i);
            if values.dtype() != input.dtype {
                let (name, expected, found) = (input.name.clone(), input.dtype, values.dtype());
                return Err(RunError::FeedType { input: name, expected, found });
            }
            let elements = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
            if elements != Some(values.len()) {
                let (input, found) = (input.name.clone(), values.len());
                return Err(RunError::FeedLength { input, expected: elements.unwrap_or(usize::MAX), found });
            }
            if input.scalar && shape.iter().all(|&size| size == 1) {
                continue;
            }
            if shape.len() != input.shape.len() {
                return Err(mismatch(i, shape, None));
            }
            for (dim, &size) in input.shape.iter().zip(shape) {
                if dim.constant().is_some_and(|known| i64::try_from(size) != Ok(known)) {
                    return Err(mismatch(i, shape, None));
                }
                let Some(symbol) = dim.as_symbol() else { continue };
                match self.bound[symbol.0 as usize] {
                    Some(bound) if bound != size => {
                        let name = self.plan.symbols[symbol.0 as usize].clone();
                        return Err(mismatch(i, shape, Some((name, bound))));
                    }
                    _ => self.bound[symbol.0 as usize] = Some(size),
                }
            }
            if let Err(error) = bind_sequences(&self.plan.inputs[..=i], feed, &mut self.bound) {
                let (input, expected) = (input.name.clone(), input.shown.clone());
                return Err(RunError::FeedOffsets { input, expected, error });
            }
        }
        // Sizes that are not symbols can be evaluated once every symbol is bound.
        for (i, input) in self.plan.inputs.iter().enumerate() {
            let shape = feed(i).shape;
            if input.scalar && shape.iter().all(|&size| size == 1) {
                continue;
            }
            let value =
                |symbol: SymbolId| self.bound[symbol.0 as usize].and_then(|size| i64::try_from(size).ok());
            let fits = |(dim, &size): (&Dim, &usize)| dim.evaluate(&value) == i64::try_from(size).ok();
            if !input.shape.iter().zip(shape).all(fits) {
                return Err(mismatch(i, shape, None));
            }
        }
        self.check()
    }

    /// Errors if a check of the program does not hold for the bound sizes.
    fn check(&self) -> Result<(), RunError> {
        let value =
            |symbol: SymbolId| self.bound[symbol.0 as usize].and_then(|size| i64::try_from(size).ok());
        self.plan.failing(&self.plan.checks, &value).map_or(Ok(()), Err)
    }
}

impl Input {
    /// The row of the batch that an element of the input belongs to; none if the input is one value for all rows.
    fn row_of(&self, element: usize, feed: &Feed<'_>) -> Option<usize> {
        let count = *feed.shape.first().filter(|_| self.has_rows)?;
        let token = element / (feed.values.len() / count);
        // The last sequence that begins at or before the token has it: sequences without tokens end where they begin.
        let sequence_of = |at, offsets: &Vec<i64>| offsets.partition_point(|&begin| begin as usize <= at) - 1;
        Some(feed.offsets.iter().rev().fold(token, sequence_of))
    }
}

/// Checks the offsets of the last of these inputs, and binds its numbers of sequences.
fn bind_sequences<'a>(
    inputs: &[Input],
    feed: &dyn Fn(usize) -> Feed<'a>,
    bound: &mut [Option<usize>],
) -> Result<(), OffsetsError> {
    let Some((input, others)) = inputs.split_last() else { return Ok(()) };
    let Feed { shape, offsets, .. } = feed(others.len());
    match (input.sequences.len(), offsets.len()) {
        (0, 0) => return Ok(()),
        (0, _) => return Err(OffsetsError::Unexpected),
        (_, 0) => return Err(OffsetsError::Missing),
        (expected, found) if expected != found => return Err(OffsetsError::Levels { found, expected }),
        _ => {}
    }
    check_levels(offsets, shape.first().copied().unwrap_or(0))?;
    for (sequences, offsets) in input.sequences.iter().zip(offsets) {
        let (count, found) = (&mut bound[sequences.count.0 as usize], offsets.len() - 1);
        match *count {
            Some(expected) if expected != found => return Err(OffsetsError::Rows { found, expected }),
            _ => *count = Some(found),
        }
        for (at, other) in others.iter().enumerate() {
            let theirs = other.sequences.iter().zip(feed(at).offsets);
            let mut theirs = theirs.filter(|(other, _)| other.tokens == sequences.tokens);
            if theirs.any(|(_, theirs)| theirs != offsets) {
                return Err(OffsetsError::Differ { other: other.name.clone() });
            }
        }
    }
    Ok(())
}
