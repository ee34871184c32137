//! What an operator looks like from outside: slots and effects.

/// What passes may assume of an operator. Effects are data: passes read these flags, never operator kinds.
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
}

impl Effects {
    /// Pure and element-wise.
    pub const ELEMENT_WISE: Effects = Effects {
        pure: true,
        random: false,
        state: false,
        blocks: false,
        row_wise: true,
        element_wise: true,
    };
    /// Pure and row-wise.
    pub const ROW_WISE: Effects = Effects { element_wise: false, ..Effects::ELEMENT_WISE };
    /// Pure, but rows mix.
    pub const PURE: Effects = Effects { row_wise: false, ..Effects::ROW_WISE };
    /// Changes state.
    pub const STATE: Effects = Effects { pure: false, state: true, ..Effects::PURE };
    /// Draws random numbers.
    pub const RANDOM: Effects = Effects { pure: false, random: true, ..Effects::PURE };
    /// Owns blocks.
    pub const BLOCKS: Effects = Effects { blocks: true, ..Effects::PURE };
}

/// The schema of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Its name: PaddlePaddle's newest one, where it has the operator.
    pub name: &'static str,
    /// What it computes, in a line.
    pub doc: &'static str,
    /// Input slots, in order, under the names of PaddlePaddle's registry (`X`, `Out`). Each takes one value; the last
    /// one takes any number if its name ends in `*`.
    pub inputs: &'static [&'static str],
    /// Output slots, likewise.
    pub outputs: &'static [&'static str],
    /// Effects.
    pub effects: Effects,
}

impl Schema {
    /// Whether `n` values fit the slots.
    pub fn accepts(slots: &[&str], n: usize) -> bool {
        match slots.last() {
            Some(last) if last.ends_with('*') => n + 1 >= slots.len(),
            _ => n == slots.len(),
        }
    }
}
