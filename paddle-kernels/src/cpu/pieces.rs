//! Cuts outputs into pieces that threads write at the same time.
#![allow(unsafe_code, reason = "hands disjoint pieces of one slice to several threads")]

use std::marker::PhantomData;

use crate::team::Team;

/// A slice that is cut into disjoint pieces.
pub(super) struct Cut<'a, T> {
    start: *mut T,
    len: usize,
    piece: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: pieces are disjoint, and elements may be written on any thread.
unsafe impl<T: Send> Sync for Cut<'_, T> {}

impl<'a, T> Cut<'a, T> {
    pub(super) fn new(slice: &'a mut [T], piece: usize) -> Self {
        Cut { start: slice.as_mut_ptr(), len: slice.len(), piece, borrow: PhantomData }
    }

    /// # Safety
    /// Each piece is taken once.
    unsafe fn take(&self, index: usize) -> &'a mut [T] {
        let first = index.saturating_mul(self.piece).min(self.len);
        let count = self.piece.min(self.len - first);
        // SAFETY: the piece is inside the slice, and pieces of different indices are disjoint.
        unsafe { self.run(first, count) }
    }

    /// The address of an element.
    pub(super) fn address(&self, at: usize) -> *mut T {
        assert!(at <= self.len, "an element of the slice");
        self.start.wrapping_add(at)
    }

    /// # Safety
    /// The elements are inside the slice, and no other run that is taken has any of them.
    pub(super) unsafe fn run(&self, first: usize, count: usize) -> &'a mut [T] {
        // SAFETY: the caller ensures that the run is inside the slice and overlaps no other.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(first), count) }
    }
}

/// Calls `work` with each piece of `piece` elements (the last may be shorter) and its number.
pub(super) fn pieces<T: Send>(
    team: &Team,
    out: &mut [T],
    piece: usize,
    work: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    let piece = piece.max(1);
    let count = out.len().div_ceil(piece);
    let cut = Cut::new(out, piece);
    team.run(count, &|index| {
        // SAFETY: the team runs each index once.
        work(index, unsafe { cut.take(index) });
    });
}

/// The work on a piece of each of two outputs. It gets the number of the piece.
type PairWork<'a, T, U> = dyn Fn(usize, &mut [T], &mut [U]) + Sync + 'a;

/// Calls `work` with the pieces of two outputs, each with its own length of pieces. There are as many pieces as `b`
/// needs.
pub(super) fn pairs<T: Send, U: Send>(
    team: &Team,
    (a, a_piece): (&mut [T], usize),
    (b, b_piece): (&mut [U], usize),
    work: &PairWork<'_, T, U>,
) {
    let b_piece = b_piece.max(1);
    let count = b.len().div_ceil(b_piece);
    let (a, b) = (Cut::new(a, a_piece), Cut::new(b, b_piece));
    team.run(count, &|index| {
        // SAFETY: the team runs each index once.
        let (a, b) = unsafe { (a.take(index), b.take(index)) };
        work(index, a, b);
    });
}

/// The work on a row of each of several outputs. It gets the position of the row in the list of rows.
type RowWork<'a, T, const N: usize> = dyn Fn(usize, [&mut [T]; N]) + Sync + 'a;

/// Calls `work` with these rows of several outputs of one type. Each row has `width` elements; a thread takes `piece`
/// rows at a time. Outputs may be empty. The numbers of the rows ascend.
pub(super) fn rows<T: Send, const N: usize>(
    team: &Team,
    outputs: [&mut [T]; N],
    (numbers, width): (&[usize], usize),
    piece: usize,
    work: &RowWork<'_, T, N>,
) {
    assert!(numbers.is_sorted_by(|a, b| a < b), "the numbers of rows ascend");
    let cuts = outputs.map(|output| Cut::new(output, width.max(1)));
    team.run(numbers.len().div_ceil(piece.max(1)), &|index| {
        let first = index * piece.max(1);
        for (at, &row) in numbers.iter().enumerate().skip(first).take(piece.max(1)) {
            // SAFETY: the team runs each index once, and no row occurs twice.
            work(at, std::array::from_fn(|k| unsafe { cuts[k].take(row) }));
        }
    });
}

/// The work on a piece of each of several outputs. It gets the number of the piece.
type GroupWork<'a, T, const N: usize> = dyn Fn(usize, [&mut [T]; N]) + Sync + 'a;

/// Calls `work` with the pieces of several outputs of one type, which are cut alike. There are as many pieces as the
/// first output needs.
pub(super) fn groups<T: Send, const N: usize>(
    team: &Team,
    outputs: [&mut [T]; N],
    piece: usize,
    work: &GroupWork<'_, T, N>,
) {
    let count = outputs.first().map_or(0, |first| first.len().div_ceil(piece.max(1)));
    let cuts = outputs.map(|output| Cut::new(output, piece.max(1)));
    team.run(count, &|index| {
        // SAFETY: the team runs each index once.
        work(index, std::array::from_fn(|k| unsafe { cuts[k].take(index) }));
    });
}

/// The work on a piece of each of three outputs. It gets the number of the piece.
type TripleWork<'a, T> = dyn Fn(usize, &mut [T], &mut [T], &mut [T]) + Sync + 'a;

/// Calls `work` with the pieces of three outputs, each with its own length of pieces. There are as many pieces as `c`
/// needs.
pub(super) fn triples<T: Send>(
    team: &Team,
    (a, a_piece): (&mut [T], usize),
    (b, b_piece): (&mut [T], usize),
    (c, c_piece): (&mut [T], usize),
    work: &TripleWork<'_, T>,
) {
    let c_piece = c_piece.max(1);
    let count = c.len().div_ceil(c_piece);
    let (a, b, c) = (Cut::new(a, a_piece), Cut::new(b, b_piece), Cut::new(c, c_piece));
    team.run(count, &|index| {
        // SAFETY: the team runs each index once.
        let (a, b, c) = unsafe { (a.take(index), b.take(index), c.take(index)) };
        work(index, a, b, c);
    });
}
