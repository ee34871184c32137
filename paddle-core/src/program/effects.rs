//! What passes may assume of an operator.

/// What passes may assume of an operator. Effects are data: passes read these, never operator kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects {
    /// The outputs depend on inputs and attributes only, and nothing else happens.
    pub pure: bool,
    /// Draws random numbers.
    pub random: bool,
    /// Changes a parameter, statistics or an updater's slot in place.
    pub state: bool,
    /// Owns blocks.
    pub blocks: bool,
    /// Row `i` of the outputs depends on row `i` of the inputs only.
    pub row_wise: bool,
    /// Element `i` of the output depends on the elements of the inputs that broadcast to `i` only; such operators fuse
    /// into one pass over tiles.
    pub element_wise: bool,
    /// The floating-point outputs have derivatives with respect to the floating-point inputs.
    pub differentiable: bool,
    /// The user says by it that no gradient is wanted.
    pub stops_gradient: bool,
    /// In which inputs the outputs are linear.
    pub linear: Linear,
    /// What each output over all rows is to the outputs over the shards. The last one is said of all outputs that follow.
    pub of_shards: &'static [OfShards],
}

impl Effects {
    /// Pure and element-wise.
    pub const ELEMENT_WISE: Effects = Effects { element_wise: true, ..Effects::ROW_WISE };
    /// Pure and row-wise.
    pub const ROW_WISE: Effects = Effects { row_wise: true, of_shards: &[OfShards::Rows], ..Effects::PURE };
    /// Pure; the rows of a sequence mix, and a shard has whole sequences.
    pub const OF_SEQUENCES: Effects = Effects { of_shards: &[OfShards::Rows], ..Effects::PURE };
    /// Pure, but rows mix.
    pub const PURE: Effects = Effects {
        pure: true,
        random: false,
        state: false,
        blocks: false,
        row_wise: false,
        element_wise: false,
        differentiable: true,
        stops_gradient: false,
        linear: Linear::No,
        of_shards: &[OfShards::Other],
    };
    /// Changes state.
    pub const STATE: Effects = Effects { pure: false, state: true, ..Effects::PURE };
    /// Draws random numbers.
    pub const RANDOM: Effects = Effects { pure: false, random: true, ..Effects::PURE };
    /// Owns blocks.
    pub const BLOCKS: Effects = Effects { blocks: true, ..Effects::PURE };

    /// What this output over all rows is to the outputs over the shards.
    pub fn of_output(&self, output: usize) -> OfShards {
        self.of_shards.get(output).or(self.of_shards.last()).copied().unwrap_or(OfShards::Other)
    }
}

/// In which inputs the outputs of an operator are linear, whatever the other inputs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linear {
    /// In none.
    No,
    /// In these, ascending, taken together: a sum of them.
    In(&'static [usize]),
    /// In each of these alone: a product of them.
    InEach(&'static [usize]),
}

impl Linear {
    /// Whether they are linear in these inputs, ascending, taken together.
    pub fn is_in(self, inputs: &[usize]) -> bool {
        match self {
            Linear::No => false,
            Linear::In(all) => inputs == all,
            Linear::InEach(each) => matches!(inputs, [one] if each.contains(one)),
        }
    }
}

/// What an output over all rows is to the outputs over the shards: parts of the rows that follow on each other, each of which
/// is computed alone.
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
