//! Sequences of tokens, by their offsets.

use super::form::{Unsigned, Variable, for_each, otherwise, when};
use super::tensor::Tensor;

/// An offset.
pub(super) fn offset(of: &Tensor, at: Unsigned) -> Unsigned {
    of.long(at).low
}

/// The number of sequences.
pub(super) fn count(offsets: &Tensor) -> Unsigned {
    offsets.elements() - Unsigned::of(1)
}

/// The first token of a sequence, and the one behind its last.
pub(super) fn tokens(offsets: &Tensor, sequence: Unsigned) -> (Unsigned, Unsigned) {
    (offset(offsets, sequence), offset(offsets, sequence + Unsigned::of(1)))
}

/// The sequence that a token belongs to, by bisection.
pub(super) fn of_token(offsets: &Tensor, token: Unsigned) -> Unsigned {
    let u = Unsigned::of;
    let (low, high) = (Variable::new(u(0)), Variable::new(count(offsets)));
    for_each(u(0), u(32), u(1), |_| {
        when(low.get().less(high.get()), || {
            let middle = (low.get() + high.get()) / u(2);
            // Of sequences that begin at one token, the last one has it.
            when(offset(offsets, middle + u(1)).less_equal(token), || low.set(middle + u(1)));
            otherwise(|| high.set(middle));
        });
    });
    low.get()
}
