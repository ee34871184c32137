//! Effects: what passes may assume of an operator.

/// What passes may assume of an operator. Effects are data: passes read them, and never match the kind of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects {
    /// The outputs depend only on the inputs and the attributes, and the operator changes nothing else.
    pub pure: bool,
    /// Draws random numbers.
    pub random: bool,
    /// Changes a parameter, statistics or an updater's state in place.
    pub state: bool,
    /// Gives values to other machines, or takes values from them.
    pub exchanges: bool,
    /// Owns blocks.
    pub blocks: bool,
    /// Row `i` of the outputs depends on row `i` of the inputs only.
    pub row_wise: bool,
    /// Element `i` of the output depends only on the elements of the inputs that broadcast to `i`. Such operators fuse
    /// into one pass over tiles.
    pub element_wise: bool,
    /// The output has the elements of the first input, in the same order.
    pub same_elements: bool,
    /// The floating-point outputs have derivatives with respect to the floating-point inputs.
    pub differentiable: bool,
    /// The user asks by this operator that no gradient passes.
    pub stops_gradient: bool,
    /// The outputs are sums of products of an element of each floating-point input that is read. A plan may
    /// compute them in another precision (`plan::Precision`).
    pub products: bool,
    /// The inputs in which the outputs are linear.
    pub linear: Linear,
    /// How each output of the whole batch follows from the outputs of shards. The last entry also holds for all further
    /// outputs.
    pub of_shards: &'static [OfShards],
}

impl Effects {
    /// Pure and element-wise.
    pub const ELEMENT_WISE: Effects = Effects { element_wise: true, ..Effects::ROW_WISE };
    /// Pure and row-wise.
    pub const ROW_WISE: Effects = Effects { row_wise: true, of_shards: &[OfShards::Rows], ..Effects::PURE };
    /// Pure. Rows of one sequence mix, and a shard has whole sequences.
    pub const OF_SEQUENCES: Effects = Effects { of_shards: &[OfShards::Rows], ..Effects::PURE };
    /// Pure. Rows mix.
    pub const PURE: Effects = Effects {
        pure: true,
        random: false,
        state: false,
        exchanges: false,
        blocks: false,
        row_wise: false,
        element_wise: false,
        same_elements: false,
        differentiable: true,
        stops_gradient: false,
        products: false,
        linear: Linear::No,
        of_shards: &[OfShards::Other],
    };
    /// Changes state.
    pub const STATE: Effects = Effects { pure: false, state: true, ..Effects::PURE };
    /// Draws random numbers.
    pub const RANDOM: Effects = Effects { pure: false, random: true, ..Effects::PURE };
    /// Owns blocks.
    pub const BLOCKS: Effects = Effects { blocks: true, ..Effects::PURE };

    /// How this output of the whole batch follows from the outputs of shards.
    pub fn of_output(&self, output: usize) -> OfShards {
        self.of_shards.get(output).or(self.of_shards.last()).copied().unwrap_or(OfShards::Other)
    }
}

/// The inputs in which the outputs of an operator are linear, for any fixed values of the other inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linear {
    /// In no input.
    No,
    /// Jointly in these inputs, ascending, as a sum is.
    In(&'static [usize]),
    /// In each of these inputs alone, as a product is.
    InEach(&'static [usize]),
}

impl Linear {
    /// Whether the outputs are jointly linear in these inputs, which ascend.
    pub fn is_in(self, inputs: &[usize]) -> bool {
        match self {
            Linear::No => false,
            Linear::In(all) => inputs == all,
            Linear::InEach(each) => matches!(inputs, [one] if each.contains(one)),
        }
    }
}

/// How an output of the whole batch follows from the outputs of shards. A shard is a run of consecutive rows that is
/// computed alone.
///
/// An operator that claims [`Sum`](Self::Sum) claims it for the values that depend on rows; inputs without rows are the
/// same for each shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfShards {
    /// The concatenation of the shards' outputs.
    Rows,
    /// The concatenation, if each shard counts its rows from the number of rows before it.
    Numbers,
    /// The concatenation, if the operator draws by the row numbers of the batch. The pass `shard` gives it these as one
    /// more input.
    Drawn,
    /// The concatenation of the shards' outputs is accepted, although it is not the output of the batch: rows are
    /// normalised among those of their shard.
    OwnRows,
    /// Equal to the output of every shard.
    Same,
    /// The sum of the shards' outputs.
    Sum,
    /// The mean of the shards' outputs, weighted by their numbers of rows.
    Mean,
    /// It does not follow from the shards' outputs.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_linear_in_their_terms_together_and_products_in_each_factor() {
        let sets: [&[usize]; 4] = [&[], &[0], &[1], &[0, 1]];
        let of = |linear: Linear| sets.map(|inputs| linear.is_in(inputs));
        assert_eq!(of(Linear::No), [false; 4]);
        assert_eq!(of(Linear::In(&[0, 1])), [false, false, false, true]);
        assert_eq!(of(Linear::InEach(&[0, 1])), [false, true, true, false]);
    }

    #[test]
    fn the_last_of_shards_is_said_of_all_that_follow() {
        let effects = Effects { of_shards: &[OfShards::Mean, OfShards::Sum], ..Effects::PURE };
        assert_eq!([0, 1, 2].map(|k| effects.of_output(k)), [OfShards::Mean, OfShards::Sum, OfShards::Sum]);
    }
}
