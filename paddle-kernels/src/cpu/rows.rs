//! Choosing rows by a mask, and moving them.
#![allow(unsafe_code, reason = "makes slices of the memories")]

use paddle_core::plan::{Location, Rows};

use super::operands::Memories;
use super::pieces::pieces;
use crate::team::Team;

/// Bytes that one thread moves at a time.
const PIECE: usize = 1 << 16;

/// Writes the numbers of the true rows to `yes` and of the false ones to `no`; returns how many are true.
pub(super) fn select(
    memories: Memories<'_>,
    mask: Location,
    rows: usize,
    yes: Location,
    no: Location,
) -> usize {
    assert!(u32::try_from(rows).is_ok(), "row numbers are 32 bits wide");
    let numbers = rows * size_of::<u32>();
    memories.assert_apart((yes, numbers), (no, numbers));
    memories.assert_apart((mask, rows), (yes, numbers));
    memories.assert_apart((mask, rows), (no, numbers));
    // SAFETY: apart from each other, as was checked.
    let (mask, yes, no) = unsafe {
        (memories.read::<u8>(mask, rows), memories.write::<u32>(yes, rows), memories.write::<u32>(no, rows))
    };
    let mut trues = 0;
    for (row, truth) in mask.iter().enumerate() {
        // Both are written and one is kept, which is faster than a branch that nobody can predict.
        yes[trues] = row as u32;
        no[row - trues] = row as u32;
        trues += usize::from(*truth != 0);
    }
    trues
}

/// How many rows there have to be for an index into them.
fn rows_named(index: &[u32]) -> usize {
    index.iter().max().map_or(0, |last| *last as usize + 1)
}

/// Copies row `index[i]` of `from` to row `i` of `to`.
pub(super) fn gather(
    team: &Team,
    memories: Memories<'_>,
    rows: Rows,
    from: Location,
    index: Location,
    to: Location,
) {
    let Rows { count, bytes } = rows;
    if count == 0 || bytes == 0 {
        return;
    }
    let to_bytes = count.saturating_mul(bytes);
    memories.assert_apart((index, count.saturating_mul(size_of::<u32>())), (to, to_bytes));
    // SAFETY: apart from what is written, as was checked.
    let index = unsafe { memories.read::<u32>(index, count) };
    let from_bytes = rows_named(index).saturating_mul(bytes);
    memories.assert_apart((from, from_bytes), (to, to_bytes));
    // SAFETY: the two are apart, and `to` from the index.
    let (from, to) = unsafe { (memories.read::<u8>(from, from_bytes), memories.write::<u8>(to, to_bytes)) };
    let piece = (PIECE / bytes).max(1);
    pieces(team, to, piece * bytes, &|number, to| {
        let index = &index[number * piece..];
        match bytes {
            4 => gather_rows(4, from, index, to),
            8 => gather_rows(8, from, index, to),
            _ => gather_rows(bytes, from, index, to),
        }
    });
}

/// Inlined, so that a length that is known makes moves of its copies.
#[inline(always)]
fn gather_rows(bytes: usize, from: &[u8], index: &[u32], to: &mut [u8]) {
    for (to, row) in to.chunks_exact_mut(bytes).zip(index) {
        to.copy_from_slice(&from[*row as usize * bytes..][..bytes]);
    }
}

/// Copies row `i` of `from` to row `index[i]` of `to`.
pub(super) fn scatter(
    team: &Team,
    memories: Memories<'_>,
    rows: Rows,
    from: Location,
    index: Location,
    to: Location,
) {
    let Rows { count, bytes } = rows;
    if count == 0 || bytes == 0 {
        return;
    }
    let from_bytes = count.saturating_mul(bytes);
    let index_at = (index, count.saturating_mul(size_of::<u32>()));
    // SAFETY: read only, until it is known how much is written.
    let index = unsafe { memories.read::<u32>(index, count) };
    let to_bytes = rows_named(index).saturating_mul(bytes);
    memories.assert_apart((from, from_bytes), (to, to_bytes));
    memories.assert_apart(index_at, (to, to_bytes));
    // SAFETY: what is written is apart from what is read.
    let (from, to) = unsafe { (memories.read::<u8>(from, from_bytes), memories.write::<u8>(to, to_bytes)) };
    // An ascending index can be cut where the rows of a piece begin.
    let ascends = index.windows(2).fold(true, |ascends, pair| ascends & (pair[0] < pair[1]));
    let piece = if ascends { (PIECE / bytes).max(1) } else { to.len() / bytes };
    pieces(team, to, piece * bytes, &|number, to| {
        let first = number * piece;
        let range = match ascends {
            true => {
                let before = |end: usize| index.partition_point(|row| (*row as usize) < end);
                before(first)..before(first + to.len() / bytes)
            }
            false => 0..count,
        };
        let from = &from[range.start * bytes..range.end * bytes];
        match bytes {
            4 => scatter_rows(4, from, &index[range], first, to),
            8 => scatter_rows(8, from, &index[range], first, to),
            _ => scatter_rows(bytes, from, &index[range], first, to),
        }
    });
}

#[inline(always)]
fn scatter_rows(bytes: usize, from: &[u8], index: &[u32], first: usize, to: &mut [u8]) {
    for (from, row) in from.chunks_exact(bytes).zip(index) {
        to[(*row as usize - first) * bytes..][..bytes].copy_from_slice(from);
    }
}

/// Moves row `index[i]` to row `i`; `index` ascends, so that no row is written before it is read.
pub(super) fn compact(memories: Memories<'_>, Rows { count, bytes }: Rows, index: Location, at: Location) {
    let numbers = count.saturating_mul(size_of::<u32>());
    // SAFETY: read only; that what is written is apart from it is checked below, before anything is.
    let index_rows = unsafe { memories.read::<u32>(index, count) };
    let room = rows_named(index_rows).saturating_mul(bytes);
    memories.assert_apart((index, numbers), (at, room));
    // SAFETY: apart from the index.
    let rows = unsafe { memories.write::<u8>(at, room) };
    for (row, &chosen) in index_rows.iter().enumerate() {
        let chosen = chosen as usize;
        assert!(row <= chosen, "the index of rows that stay ascends");
        rows.copy_within(chosen * bytes..(chosen + 1) * bytes, row * bytes);
    }
}

/// Writes 0, 1, 2, …
pub(super) fn number(memories: Memories<'_>, count: usize, to: Location) {
    // SAFETY: nothing else is read or written.
    let to = unsafe { memories.write::<u32>(to, count) };
    for (number, to) in (0..).zip(to) {
        *to = number;
    }
}
