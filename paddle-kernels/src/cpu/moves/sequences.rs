//! Kernels of the offsets of sequences, and of the order in which loops visit sequences.

use paddle_core::plan::KernelError;

use crate::cpu::kernel::{Body, Machine};
use crate::cpu::operands::Operands;
use crate::cpu::scratch::Scratch;

/// Row numbers are `i32`; the runtime checks that this type suffices.
fn narrow(number: usize) -> i32 {
    number.try_into().expect("row numbers are 32 bits wide")
}

fn length(pair: &[i64]) -> usize {
    usize::try_from(pair[1] - pair[0]).expect("offsets never fall")
}

/// [`Move::SortSequences`](paddle_core::plan::Move::SortSequences).
#[derive(Default)]
pub(super) struct Sorting {
    counts: Scratch<usize>,
}

impl Body for Sorting {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let (offsets, [order, steps]) = (reads.get::<i64>(0), writes.all::<i32, 2>());
        let longest = offsets.windows(2).map(length).max().unwrap_or(0);
        self.counts.lend(2 * longest + 1, |counts| sort(offsets, longest, counts, order, steps))?;
        Ok(())
    }
}

fn sort(offsets: &[i64], longest: usize, counts: &mut [usize], order: &mut [i32], steps: &mut [i32]) {
    // First the number of sequences that have a token `step`. Then, for each length, the next place for a sequence of
    // that length, behind all longer ones.
    counts.fill(0);
    let (longer, next) = counts.split_at_mut(longest);
    for pair in offsets.windows(2) {
        if let Some(last) = length(pair).checked_sub(1) {
            longer[last] += 1;
        }
    }
    for step in (1..longest).rev() {
        longer[step - 1] += longer[step];
    }
    next[..longest].copy_from_slice(longer);
    for (sequence, pair) in offsets.windows(2).enumerate() {
        let place = &mut next[length(pair)];
        order[*place] = narrow(sequence);
        *place += 1;
    }
    let mut steps = steps.iter_mut();
    for (step, &count) in longer.iter().enumerate() {
        for (&sequence, to) in order[..count].iter().zip(&mut steps) {
            *to = narrow(offsets[sequence as usize] as usize + step);
        }
    }
}

/// [`Move::TakeSequences`](paddle_core::plan::Move::TakeSequences).
pub(super) struct Taking;

impl Body for Taking {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let (offsets, index) = (reads.get::<i64>(0), reads.get::<i32>(1));
        let (to, tokens) = writes.two::<i64, i32>();
        let (mut end, mut tokens) = (0, tokens.iter_mut());
        to[0] = 0;
        for (&sequence, to) in index.iter().zip(&mut to[1..]) {
            let pair = &offsets[sequence as usize..][..2];
            let range = pair[0] as usize..pair[0] as usize + length(pair);
            end += range.len() as i64;
            *to = end;
            for token in range {
                *tokens.next().expect("there is room for all tokens") = narrow(token);
            }
        }
        Ok(())
    }
}

/// [`Move::AddLengths`](paddle_core::plan::Move::AddLengths).
pub(super) struct AddingLengths;

impl Body for AddingLengths {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let (lengths, offsets) = (reads.get::<i64>(0), writes.one::<i64>());
        let mut end = 0i64;
        offsets[0] = 0;
        for (row, (&length, offset)) in lengths.iter().zip(&mut offsets[1..]).enumerate() {
            end = crate::messages::add_length(row, end, length)?;
            *offset = end;
        }
        Ok(())
    }
}

/// [`Move::RebaseOffsets`](paddle_core::plan::Move::RebaseOffsets).
pub(super) struct Rebasing;

impl Body for Rebasing {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let from = reads.get::<i64>(0);
        for (each, to) in from.iter().zip(writes.one::<i64>()) {
            *to = each - from[0];
        }
        Ok(())
    }
}

/// [`Move::CollectSequences`](paddle_core::plan::Move::CollectSequences).
pub(super) struct Collecting;

impl Body for Collecting {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (_, writes) = operands.split();
        let (rounds, offsets) = writes.two::<i32, i64>();
        offsets.fill(0);
        for &row in &*rounds {
            offsets[row as usize] += 1;
        }
        // Each entry is first the beginning of its sequence. As tokens are numbered, it moves to the sequence's end,
        // which is the beginning of the next one.
        let mut begin = 0;
        for offset in offsets.iter_mut() {
            (*offset, begin) = (begin, begin + *offset);
        }
        for round in rounds {
            let next = &mut offsets[*round as usize];
            *round = narrow(*next as usize);
            *next += 1;
        }
        let rows = offsets.len() - 1;
        offsets.copy_within(..rows, 1);
        offsets[0] = 0;
        Ok(())
    }
}
