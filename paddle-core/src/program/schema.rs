//! The schema of an operator: name, slots, accuracy, effects.

use std::fmt;

use super::{AccuracyClass, Effects};

/// A slot of an operator, and the properties of the values in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its name in PaddlePaddle's registry (`X`, `Out`).
    pub name: &'static str,
    /// The slot takes any number of values. Only the last slot may be variadic.
    pub is_variadic: bool,
    /// The operator reads the elements of this input. If false, it reads only the shape.
    pub is_read: bool,
    /// The operator works along the sequences of this value. It gets the offsets of such slots as operands behind its
    /// inputs: first those of inputs, then those of outputs.
    pub has_offsets: bool,
    /// Gradients pass to this input. Gradients do not pass to labels.
    pub passes_gradient: bool,
    /// The operator changes this input in place. It is a parameter, or a state.
    pub is_changed: bool,
    /// The operator reads, or changes, only some elements of this input: as many as another operand has. Others choose them, as
    /// ids choose the rows of a table.
    pub is_picked: bool,
    /// This output is used only by the gradient of the others, and has no gradient of its own.
    pub is_intermediate: bool,
}

impl Slot {
    /// A slot of one value. An input in it is read, and gradients pass to it.
    pub const fn of(name: &'static str) -> Slot {
        Slot {
            name,
            is_variadic: false,
            is_read: true,
            has_offsets: false,
            passes_gradient: true,
            is_changed: false,
            is_picked: false,
            is_intermediate: false,
        }
    }

    /// The slot with any number of values.
    pub const fn variadic(self) -> Slot {
        Slot { is_variadic: true, ..self }
    }

    /// The slot as one of which only the shape is read.
    pub const fn shape_only(self) -> Slot {
        Slot { is_read: false, ..self }
    }

    /// The slot as one along whose sequences the operator works.
    pub const fn with_offsets(self) -> Slot {
        Slot { has_offsets: true, ..self }
    }

    /// The slot as one that no gradient passes to.
    pub const fn without_gradient(self) -> Slot {
        Slot { passes_gradient: false, ..self }
    }

    /// The slot as one that is changed in place.
    pub const fn changed(self) -> Slot {
        Slot { is_changed: true, ..self }
    }

    /// The slot as one of which only some elements are read or changed.
    pub const fn picked(self) -> Slot {
        Slot { is_picked: true, ..self }
    }

    /// The slot as one that is used only by the gradient of the other outputs.
    pub const fn intermediate(self) -> Slot {
        Slot { is_intermediate: true, ..self }
    }

    /// The slot of value `k`. Values behind the last slot get a slot without a name.
    fn at(slots: &[Slot], k: usize) -> Slot {
        let variadic = slots.last().filter(|last| last.is_variadic);
        slots.get(k).or(variadic).copied().unwrap_or(Slot::of(""))
    }
}

/// Prints the name, with a `*` behind it if the slot is variadic.
impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, if self.is_variadic { "*" } else { "" })
    }
}

/// The schema of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Its name: PaddlePaddle's newest one, where it has the operator.
    pub name: &'static str,
    /// What it computes, in a line.
    pub doc: &'static str,
    /// Input slots, in order.
    pub inputs: &'static [Slot],
    /// Output slots, in order.
    pub outputs: &'static [Slot],
    /// The upper bound on the error of the results, with its reason.
    pub accuracy: AccuracyClass,
    /// Effects.
    pub effects: Effects,
}

impl Schema {
    /// Whether `n` values fit the slots.
    pub fn accepts(slots: &[Slot], n: usize) -> bool {
        match slots.last() {
            Some(last) if last.is_variadic => n + 1 >= slots.len(),
            _ => n == slots.len(),
        }
    }

    /// The slot of input `k`.
    pub fn input(&self, k: usize) -> Slot {
        Slot::at(self.inputs, k)
    }

    /// The slot of output `k`.
    pub fn output(&self, k: usize) -> Slot {
        Slot::at(self.outputs, k)
    }

    /// The positions of the values whose offsets follow the inputs as operands, in this order. Positions count the
    /// inputs first, then the outputs.
    pub fn offsets(&self) -> impl Iterator<Item = usize> {
        let slots = self.inputs.iter().chain(self.outputs).enumerate();
        slots.filter(|(_, slot)| slot.has_offsets).map(|(k, _)| k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_slot_has_what_follows_if_it_takes_any_number() {
        let schema = Schema {
            name: "",
            doc: "",
            inputs: const { &[Slot::of("X").with_offsets(), Slot::of("Rest").variadic().shape_only()] },
            outputs: const { &[Slot::of("Out").with_offsets()] },
            accuracy: AccuracyClass::MOVED,
            effects: Effects::PURE,
        };
        assert_eq!([0, 1, 7].map(|k| schema.input(k).name), ["X", "Rest", "Rest"]);
        assert_eq!([0, 1].map(|k| schema.output(k).name), ["Out", ""]);
        assert_eq!([0, 1, 2, 9].map(|n| Schema::accepts(schema.inputs, n)), [false, true, true, true]);
        assert_eq!([0, 1, 2].map(|n| Schema::accepts(schema.outputs, n)), [false, true, false]);
        assert_eq!(schema.offsets().collect::<Vec<_>>(), [0, 2]);
        assert_eq!(schema.inputs[1].to_string(), "Rest*");
    }
}
