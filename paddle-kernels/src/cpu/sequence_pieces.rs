//! Sequences that threads share: the parts of outputs, and of a kernel's memory, that belong to some of the sequences.
#![allow(unsafe_code, reason = "hands disjoint parts of one slice to several threads")]

use std::ops::Range;

use super::pieces::Cut;
use crate::team::Team;

/// The number of elements that one thread takes at a time, if sequences have equal lengths.
const PIECE: usize = 1 << 15;

/// The number of sequences that one thread takes at a time, if all of them together have `elements` elements.
pub(super) fn sequences_of_piece(offsets: &[i64], elements: usize) -> usize {
    let count = offsets.len() - 1;
    PIECE.saturating_mul(count).div_ceil(elements.max(1)).clamp(1, count.max(1))
}

/// Elements that are cut where sequences are cut.
pub(super) struct Shared<'a, T> {
    elements: &'a mut [T],
    width: usize,
    of: Of,
}

/// The parts of sequences to which elements belong, `width` to each.
#[derive(Clone, Copy)]
enum Of {
    Tokens,
    Sequences,
    Pieces,
}

impl<'a, T> Shared<'a, T> {
    /// Elements with `width` for each token.
    pub(super) fn of_tokens(elements: &'a mut [T], width: usize) -> Self {
        Shared { elements, width, of: Of::Tokens }
    }

    /// Elements with `width` for each sequence.
    pub(super) fn of_sequences(elements: &'a mut [T], width: usize) -> Self {
        Shared { elements, width, of: Of::Sequences }
    }

    /// Elements with `width` for each piece that a thread takes.
    pub(super) fn of_pieces(elements: &'a mut [T], width: usize) -> Self {
        Shared { elements, width, of: Of::Pieces }
    }
}

impl Shared<'static, u8> {
    /// No elements.
    pub(super) fn nothing() -> Self {
        Shared { elements: &mut [], width: 0, of: Of::Pieces }
    }
}

/// A piece of the sequences: the number of its first one, their offsets, and their parts of the elements.
pub(super) struct Piece<'a, T, U, V> {
    pub(super) first: usize,
    pub(super) offsets: &'a [i64],
    pub(super) a: &'a mut [T],
    pub(super) b: &'a mut [U],
    pub(super) c: &'a mut [V],
}

/// The work on a piece of the sequences.
type Work<'a, T, U, V> = dyn Fn(Piece<'_, T, U, V>) + Sync + 'a;

/// Calls `work` with each piece of `piece` sequences, and with its parts of `a`, `b` and `c`. The last piece may be
/// smaller.
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
        // SAFETY: the team runs each index once, and no sequence is in two pieces.
        let (a, b, c) = unsafe {
            (a.take(index, first, offsets), b.take(index, first, offsets), c.take(index, first, offsets))
        };
        work(Piece { first, offsets, a, b, c });
    });
}

/// The work on a piece of the sequences. It gets the number of the first one, their offsets, and their tokens.
type TokenWork<'a, T> = dyn Fn(usize, &[i64], &mut [T]) + Sync + 'a;

/// Calls `work` with the tokens of each piece of `piece` sequences. A token has `width` elements.
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

/// Elements of which each piece of the sequences has a part.
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
        // SAFETY: offsets never fall, and the last one was checked to be inside of the elements. So the parts of
        // different pieces are inside and disjoint.
        unsafe { self.cut.run(start * self.width, (end - start) * self.width) }
    }
}
