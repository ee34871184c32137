//! Sequences of tokens, by their offsets.

use super::form::{Truth, Unsigned, each, fail, when};
use super::kernel::{Grid, Kernel};
use super::sort::first_that;
use super::tensor::{Call, Tensor};
use crate::messages::same_lengths;

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

/// The sequence that a token belongs to. Of sequences that begin at one token, the last one has it.
pub(super) fn of_token(offsets: &Tensor, token: Unsigned) -> Unsigned {
    first_that(count(offsets), |sequence| offset(offsets, sequence + Unsigned::of(1)).greater(token))
}

/// A kernel that fails at the first sequence, by the offsets in operand `offsets`, for which something is wrong.
pub(super) fn check(call: &Call<'_>, offsets: usize, is_wrong: impl FnOnce(Unsigned) -> Truth) -> Kernel {
    Kernel::new().stage(Grid::Items(call.shape(offsets).to_vec()), || {
        each(count(&call.input(offsets)), |sequence| when(is_wrong(sequence), || fail(sequence)));
    })
}

/// A kernel that fails at the first sequence that is not as long as the one that it belongs to.
pub(super) fn check_lengths(call: &Call<'_>, own: usize, others: usize) -> Kernel {
    let kernel = check(call, own, |sequence| {
        let length = |of: usize| {
            let (first, end) = tokens(&call.input(of), sequence);
            end - first
        };
        length(own).is_not(length(others))
    });
    let of = [own, others].map(|k| (call.input_number(k), call.shape(k).to_vec()));
    kernel.explain(move |evidence, _| {
        let [own, others] = of.each_ref().map(|(number, shape)| evidence.offsets(*number, shape));
        same_lengths(&own, &others).expect_err("a sequence that the device found")
    })
}
