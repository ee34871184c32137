//! Offsets of sequences, and the order in which loops go along them.
#![allow(unsafe_code, reason = "makes slices of the memories")]

use paddle_core::memory::{OutOfMemory, TryGrow};
use paddle_core::plan::Location;

use super::operands::Memories;

/// Row numbers are 32 bits wide; the runtime checks that they suffice.
fn narrow(number: usize) -> u32 {
    number.try_into().expect("row numbers are 32 bits wide")
}

fn length(pair: &[i64]) -> usize {
    usize::try_from(pair[1] - pair[0]).expect("offsets never fall")
}

/// Sorts sequences by length, the longest first, and numbers their tokens step by step.
pub(super) fn order(
    memories: Memories<'_>,
    sequences: usize,
    offsets: Location,
    order: Location,
    steps: Location,
    counts: &mut Vec<usize>,
) -> Result<(), OutOfMemory> {
    // SAFETY: what is written is checked to be apart below, before anything is.
    let at = unsafe { memories.read::<i64>(offsets, sequences + 1) };
    let tokens = length(&[at[0], at[sequences]]);
    let bytes = |count: usize| count.saturating_mul(size_of::<u32>());
    let read = (offsets, (sequences + 1).saturating_mul(size_of::<i64>()));
    memories.assert_apart(read, (order, bytes(sequences)));
    memories.assert_apart(read, (steps, bytes(tokens)));
    memories.assert_apart((order, bytes(sequences)), (steps, bytes(tokens)));
    // SAFETY: apart from each other, as was checked.
    let (order, steps) =
        unsafe { (memories.write::<u32>(order, sequences), memories.write::<u32>(steps, tokens)) };
    // How many sequences have a token number `step`: `counts`. Behind them, for each length, where the next sequence of it
    // is put: behind those that are longer.
    let longest = at.windows(2).map(length).max().unwrap_or(0);
    counts.clear();
    counts.try_resize(2 * longest + 1, 0)?;
    let (longer, next) = counts.split_at_mut(longest);
    for pair in at.windows(2) {
        if let Some(last) = length(pair).checked_sub(1) {
            longer[last] += 1;
        }
    }
    for step in (1..longest).rev() {
        longer[step - 1] += longer[step];
    }
    next[..longest].copy_from_slice(longer);
    for (sequence, pair) in at.windows(2).enumerate() {
        let place = &mut next[length(pair)];
        order[*place] = narrow(sequence);
        *place += 1;
    }
    counts.truncate(longest);
    let mut steps = steps.iter_mut();
    for (step, &count) in counts.iter().enumerate() {
        for (&sequence, to) in order[..count].iter().zip(&mut steps) {
            *to = narrow(at[sequence as usize] as usize + step);
        }
    }
    Ok(())
}

/// Takes sequences by their numbers: their offsets, and the numbers of their tokens. Returns how many tokens.
pub(super) fn take(
    memories: Memories<'_>,
    sequences: usize,
    offsets: Location,
    index: Location,
    to: Location,
    tokens: Location,
) -> usize {
    // SAFETY: what is written is checked to be apart below, before anything is.
    let index_of = unsafe { memories.read::<u32>(index, sequences) };
    let named = index_of.iter().max().map_or(0, |last| *last as usize + 1);
    // SAFETY: as above.
    let at = unsafe { memories.read::<i64>(offsets, named + 1) };
    let range = |sequence: u32| {
        let pair = &at[sequence as usize..][..2];
        pair[0] as usize..pair[0] as usize + length(pair)
    };
    let count: usize = index_of.iter().map(|&sequence| range(sequence).len()).sum();
    let reads = [
        (index, sequences.saturating_mul(size_of::<u32>())),
        (offsets, (named + 1).saturating_mul(size_of::<i64>())),
    ];
    let writes = [
        (to, (sequences + 1).saturating_mul(size_of::<i64>())),
        (tokens, count.saturating_mul(size_of::<u32>())),
    ];
    for read in reads {
        writes.iter().for_each(|&write| memories.assert_apart(read, write));
    }
    memories.assert_apart(writes[0], writes[1]);
    // SAFETY: apart from each other, as was checked.
    let (to, tokens) =
        unsafe { (memories.write::<i64>(to, sequences + 1), memories.write::<u32>(tokens, count)) };
    let (mut end, mut tokens) = (0, tokens.iter_mut());
    to[0] = 0;
    for (&sequence, to) in index_of.iter().zip(&mut to[1..]) {
        let range = range(sequence);
        end += range.len() as i64;
        *to = end;
        for (token, to) in range.zip(&mut tokens) {
            *to = narrow(token);
        }
    }
    count
}

/// Offsets that begin with 0.
pub(super) fn rebase(memories: Memories<'_>, count: usize, from: Location, to: Location) {
    let bytes = count.saturating_mul(size_of::<i64>());
    memories.assert_apart((from, bytes), (to, bytes));
    // SAFETY: apart from each other, as was checked.
    let (from, to) = unsafe { (memories.read::<i64>(from, count), memories.write::<i64>(to, count)) };
    for (from_each, to) in from.iter().zip(to) {
        *to = from_each - from[0];
    }
}

/// Sequences of values that came round by round: their offsets, and the number of each value among the tokens.
pub(super) fn collect(
    memories: Memories<'_>,
    rows: usize,
    tokens: usize,
    rounds: Location,
    offsets: Location,
) {
    let written = (rounds, tokens.saturating_mul(size_of::<u32>()));
    memories.assert_apart(written, (offsets, (rows + 1).saturating_mul(size_of::<i64>())));
    // SAFETY: apart from each other, as was checked.
    let (rounds, offsets) =
        unsafe { (memories.write::<u32>(rounds, tokens), memories.write::<i64>(offsets, rows + 1)) };
    offsets.fill(0);
    for &row in &*rounds {
        offsets[row as usize] += 1;
    }
    // Each is where its sequence begins, then, as tokens are numbered, where it ends: that is where the next begins.
    let mut begin = 0;
    for offset in offsets.iter_mut() {
        (*offset, begin) = (begin, begin + *offset);
    }
    for round in rounds {
        let next = &mut offsets[*round as usize];
        *round = narrow(*next as usize);
        *next += 1;
    }
    offsets.copy_within(..rows, 1);
    offsets[0] = 0;
}
