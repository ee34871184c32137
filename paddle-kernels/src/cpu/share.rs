//! Sequences that threads share: what some of them have of outputs and of a kernel's memory.
#![allow(unsafe_code, reason = "hands disjoint parts of one slice to several threads")]

use std::ops::Range;

use super::pieces::Cut;
use crate::team::Team;

/// Elements of sequences that one thread goes through at a time, if these are of the same length.
const PIECE: usize = 1 << 15;

/// How many of these sequences, of so many elements, one thread goes through at a time.
pub(super) fn sequences_of_piece(offsets: &[i64], elements: usize) -> usize {
    let count = offsets.len() - 1;
    PIECE.saturating_mul(count).div_ceil(elements.max(1)).clamp(1, count.max(1))
}

/// Elements that are cut where sequences are.
pub(super) struct Shared<'a, T> {
    elements: &'a mut [T],
    width: usize,
    of: Of,
}

/// What has so many elements.
#[derive(Clone, Copy)]
enum Of {
    Tokens,
    Sequences,
    Pieces,
}

impl<'a, T> Shared<'a, T> {
    /// So many for each token.
    pub(super) fn of_tokens(elements: &'a mut [T], width: usize) -> Self {
        Shared { elements, width, of: Of::Tokens }
    }

    /// So many for each sequence.
    pub(super) fn of_sequences(elements: &'a mut [T], width: usize) -> Self {
        Shared { elements, width, of: Of::Sequences }
    }

    /// So many for each piece that a thread takes.
    pub(super) fn of_pieces(elements: &'a mut [T], width: usize) -> Self {
        Shared { elements, width, of: Of::Pieces }
    }
}

impl Shared<'static, u8> {
    /// Nothing.
    pub(super) fn nothing() -> Self {
        Shared { elements: &mut [], width: 0, of: Of::Pieces }
    }
}

/// Some sequences: the number of the first, their offsets, and what they have.
pub(super) struct Piece<'a, T, U, V> {
    pub(super) first: usize,
    pub(super) offsets: &'a [i64],
    pub(super) a: &'a mut [T],
    pub(super) b: &'a mut [U],
    pub(super) c: &'a mut [V],
}

/// What is done with some sequences.
type Work<'a, T, U, V> = dyn Fn(Piece<'_, T, U, V>) + Sync + 'a;

/// Calls `work` with what every `piece` sequences (the last time there may be fewer) have of `a`, `b` and `c`.
pub(super) fn share<T: Send, U: Send, V: Send>(
    team: &Team,
    offsets: &[i64],
    piece: usize,
    (a, b, c): (Shared<'_, T>, Shared<'_, U>, Shared<'_, V>),
    work: &Work<'_, T, U, V>,
) {
    let count = offsets.len() - 1;
    assert!(offsets[0] == 0 && offsets.is_sorted(), "offsets cut tokens into sequences");
    let (a, b, c) =
        (Parts::new(a, offsets, piece), Parts::new(b, offsets, piece), Parts::new(c, offsets, piece));
    team.run(count.div_ceil(piece), &|index| {
        let first = index * piece;
        let offsets = &offsets[first..=(first + piece).min(count)];
        // SAFETY: the team runs each index once, and its sequences are no others'.
        let (a, b, c) = unsafe {
            (a.take(index, first, offsets), b.take(index, first, offsets), c.take(index, first, offsets))
        };
        work(Piece { first, offsets, a, b, c });
    });
}

/// What is done with some sequences: the number of the first, their offsets, their tokens.
type TokenWork<'a, T> = dyn Fn(usize, &[i64], &mut [T]) + Sync + 'a;

/// Calls `work` with the tokens, of `width` elements each, of every `piece` sequences.
pub(super) fn sequences<T: Send>(
    team: &Team,
    out: &mut [T],
    offsets: &[i64],
    width: usize,
    piece: usize,
    work: &TokenWork<'_, T>,
) {
    let shared = (Shared::of_tokens(out, width), Shared::nothing(), Shared::nothing());
    share(team, offsets, piece, shared, &|piece| work(piece.first, piece.offsets, piece.a));
}

/// Elements that pieces of sequences have parts of.
struct Parts<'a, T> {
    cut: Cut<'a, T>,
    width: usize,
    of: Of,
}

impl<'a, T> Parts<'a, T> {
    fn new(Shared { elements, width, of }: Shared<'a, T>, offsets: &[i64], piece: usize) -> Self {
        let count = offsets.len() - 1;
        let parts = match of {
            Of::Tokens => offsets[count] as usize,
            Of::Sequences => count,
            Of::Pieces => count.div_ceil(piece),
        };
        let fits = parts.checked_mul(width).is_some_and(|end| end <= elements.len());
        assert!(fits, "elements for all sequences");
        Parts { cut: Cut::new(elements, 1), width, of }
    }

    /// # Safety
    /// Each piece is taken once.
    unsafe fn take(&self, index: usize, first: usize, offsets: &[i64]) -> &'a mut [T] {
        let (start, end) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
        let Range { start, end } = match self.of {
            Of::Tokens => start..end,
            Of::Sequences => first..first + offsets.len() - 1,
            Of::Pieces => index..index + 1,
        };
        // SAFETY: offsets never fall and end, as was checked, inside of the elements; so the parts of different pieces are
        // inside and disjoint.
        unsafe { self.cut.run(start * self.width, (end - start) * self.width) }
    }
}
