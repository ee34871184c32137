//! Moves: the work on values, rows and sequences that the runtime needs beside the operators of a program.

/// A move of values, of their rows, or of sequences.
///
/// Row numbers are `i32`. The operand type of `index` says how many it has. A row of an operand is everything behind
/// its first dimension. An operand that a move changes in place is one of its outputs; the move writes only the parts
/// of it that are named here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// `(x) -> y`: copies the elements of `x` to the first elements of `y`, as many as both have.
    Copy,
    /// `(x) -> y`: copies a value between the backend and its fallback; `x` and `y` have one type. No backend
    /// compiles it: the runtime reads and writes.
    Transfer,
    /// `(x) -> y`: copies a value to another layout; `x` and `y` have one shape.
    Relayout,
    /// `() -> y`: fills `y` with zeros.
    Zero,
    /// `(x) -> y`: adds the elements of `x` to the first elements of `y`, as many as both have. Integers wrap around.
    Add,
    /// `(x, index) -> y`: row `i` of `y` is row `index[i]` of `x`.
    GatherRows,
    /// `(x, index) -> y`: row `index[i]` of `y` is row `i` of `x`.
    ScatterRows,
    /// `(x, index) -> y`: adds row `i` of `x` to row `index[i]` of `y`. No row is named twice.
    AddRows,
    /// `(index) -> y`: moves row `index[i]` of `y` to row `i` of `y`. The index is in ascending order.
    CompactRows,
    /// `() -> y`: 0, 1, 2, …
    NumberRows,
    /// `(mask) -> (yes, no, count)`: the numbers of the true rows and those of the false rows, each in ascending
    /// order, and the number of true rows. The elements behind the row numbers in `yes` and `no` are unspecified.
    SelectRows,
    /// `(offsets) -> (order, steps)`: `order` has the numbers of the sequences, the longest first; sequences of one
    /// length keep their order. `steps` has the numbers of the tokens in the order in which a loop along these
    /// sequences visits them.
    SortSequences,
    /// `(offsets, index) -> (offsets, tokens)`: takes the sequences that `index` names. Gives their offsets, and the
    /// number in the source of each of their tokens. `tokens` may have room for more tokens; the elements behind the
    /// last are unspecified.
    TakeSequences,
    /// `(lengths) -> offsets`: the sums of the lengths, which are `i64`. A negative length is a fault, and so is a
    /// sum that overflows.
    AddLengths,
    /// `(offsets) -> offsets`: subtracts the first offset from all of them.
    RebaseOffsets,
    /// `() -> (rounds, offsets)`: makes sequences of the values that a loop has collected, one sequence per row. At
    /// first `rounds` has the row of each value, in the order in which the loop gave the values; the move replaces
    /// each by the position of the value among the tokens. `offsets` are the offsets of the sequences.
    CollectSequences,
}

impl Move {
    /// The name of the move in plans and messages.
    pub fn name(self) -> &'static str {
        match self {
            Move::Copy => "copy",
            Move::Transfer => "transfer",
            Move::Relayout => "relayout",
            Move::Zero => "zero",
            Move::Add => "add",
            Move::GatherRows => "gather",
            Move::ScatterRows => "scatter",
            Move::AddRows => "add rows",
            Move::CompactRows => "compact",
            Move::NumberRows => "number rows",
            Move::SelectRows => "select",
            Move::SortSequences => "sort",
            Move::TakeSequences => "take sequences",
            Move::AddLengths => "make sequences",
            Move::RebaseOffsets => "offsets",
            Move::CollectSequences => "collect",
        }
    }
}
