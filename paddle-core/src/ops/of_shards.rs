//! Shards: what is known of an operator whose rows are cut into parts, each of which is computed alone.

/// What an output over all rows is to the outputs over the shards: parts of the rows that follow on each other.
///
/// Of what an operator claims to be a sum, that is meant of everything that follows from the rows; inputs without rows are
/// the same for each shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfShards {
    /// Theirs, one after the other.
    Rows,
    /// The same, where each shard's numbers are counted from the number of rows before it.
    Numbers,
    /// The same, once the operator is given the numbers of its rows, behind its inputs, by which it then draws.
    Drawn,
    /// What it is in each of them.
    Same,
    /// Their sum.
    Sum,
    /// Their mean, weighted by the rows of each.
    Mean,
    /// Nothing that follows from them alone.
    Other,
}
