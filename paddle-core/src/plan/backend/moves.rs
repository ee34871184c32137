//! Moves: what the runtime has to do with values, rows and sequences beside the operators of a program.

/// A move of values, of their rows, or of sequences.
///
/// Row numbers are `i32`. An index has as many of them as its operand type says, and a row is what lies behind the first dimension of
/// an operand. What a move changes in place is an output, too, of which it writes only what is said here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// `(x) -> y`: the first elements of `y` are those of `x`, as many as both have.
    Copy,
    /// The same of two values of one type, of which one is on the fallback. No backend gets it: the runtime reads and writes.
    Transfer,
    /// `() -> y`: zeros.
    Zero,
    /// `(x) -> y`: adds the elements of `x` to the first of `y`, as many as both have. Integers wrap around.
    Add,
    /// `(x, index) -> y`: row `i` of `y` is row `index[i]` of `x`.
    GatherRows,
    /// `(x, index) -> y`: row `index[i]` of `y` is row `i` of `x`.
    ScatterRows,
    /// `(x, index) -> y`: adds row `i` of `x` to row `index[i]` of `y`. No row is named twice.
    AddRows,
    /// `(index) -> y`: moves row `index[i]` of `y` to row `i` of `y`. The index ascends.
    CompactRows,
    /// `() -> y`: 0, 1, 2, …
    NumberRows,
    /// `(mask) -> (yes, no, count)`: the numbers of the true rows, those of the false ones, in ascending order, and how many are
    /// true. What lies behind them in `yes` and `no` is not said.
    SelectRows,
    /// `(offsets) -> (order, steps)`: the numbers of the sequences by length, the longest first, those of one length in their order; and
    /// the number of each token in the order in which a loop along these sequences comes to them.
    SortSequences,
    /// `(offsets, index) -> (offsets, tokens)`: takes the sequences that the index names, and numbers their tokens. There may be room
    /// for more tokens; what lies behind them is not said.
    TakeSequences,
    /// `(lengths) -> offsets`: adds up lengths, `i64`. A negative length is a fault, and so is a sum out of range.
    AddLengths,
    /// `(offsets) -> offsets`: the same less the first of them.
    RebaseOffsets,
    /// `() -> (rounds, offsets)`: makes sequences of what a loop gave. `rounds` has the row of each value, in the order in which they
    /// came, and is given the number of each among the tokens; `offsets` are those of the rows' sequences.
    CollectSequences,
}

impl Move {
    /// Its name in plans and messages.
    pub fn name(self) -> &'static str {
        match self {
            Move::Copy => "copy",
            Move::Transfer => "transfer",
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

    /// Whether outputs keep what it does not write of them.
    pub fn changes(self) -> bool {
        match self {
            Move::Copy
            | Move::Add
            | Move::ScatterRows
            | Move::AddRows
            | Move::CompactRows
            | Move::CollectSequences => true,
            Move::Transfer
            | Move::Zero
            | Move::GatherRows
            | Move::NumberRows
            | Move::SelectRows
            | Move::SortSequences
            | Move::TakeSequences
            | Move::AddLengths
            | Move::RebaseOffsets => false,
        }
    }
}
