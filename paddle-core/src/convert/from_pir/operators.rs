//! The table of operators: `operators.txt`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// How one operator is written in the form of before.
pub(super) struct Entry {
    /// Its type.
    pub(super) name: &'static str,
    pub(super) operands: Vec<Operand>,
    pub(super) results: Vec<Slot>,
    /// The names of attributes that have others, and what is said about them.
    attributes: Vec<Renamed>,
    /// Attributes that PIR lacks.
    pub(super) truths: Vec<(&'static str, bool)>,
}

/// What an operand is.
pub(super) enum Operand {
    /// The value, or the values, in a slot.
    Slot(&'static str),
    Attribute(OfAttribute),
    /// One that is read nowhere.
    Ignored,
}

/// An attribute whose value may be computed.
pub(super) struct OfAttribute {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The slot of a value that has it, and of values that each have one number of it.
    pub(super) slot: Option<&'static str>,
    pub(super) slot_of_several: Option<&'static str>,
}

/// What an attribute is whose value is known.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Numbers as they are.
    Same,
    /// A number with a fraction, also where it is whole.
    Float,
    /// A whole number, whatever its type.
    Int,
    /// The text of a number.
    Text,
}

/// What a result is.
pub(super) enum Slot {
    New(&'static str),
    /// The operand with this slot, which is overwritten.
    Overwritten {
        slot: &'static str,
        operand: &'static str,
    },
}

struct Renamed {
    from: &'static str,
    to: &'static str,
    is_float: bool,
}

impl Entry {
    /// The name that an attribute has, and whether it has numbers with fractions, if that is said.
    pub(super) fn attribute<'a>(&self, name: &'a str) -> (&'a str, bool) {
        match self.attributes.iter().find(|renamed| renamed.from == name) {
            Some(renamed) => (renamed.to, renamed.is_float),
            None => (name, false),
        }
    }
}

/// The table, by the names that operators have in PIR.
pub(super) static TABLE: LazyLock<BTreeMap<&str, Entry>> = LazyLock::new(|| {
    let lines = include_str!("operators.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).filter_map(entry).collect()
});

/// `name = type : operands -> results | attributes`. What is the same is left out.
fn entry(line: &'static str) -> Option<(&'static str, Entry)> {
    let (names, form) = line.split_once(':')?;
    let (name, of_type) = names.split_once('=').map_or((names, names), |(name, of_type)| (name, of_type));
    let (slots, attributes) = form.split_once('|').unwrap_or((form, ""));
    let (operands, results) = slots.split_once("->")?;
    let (truths, attributes): (Vec<_>, Vec<_>) =
        attributes.split_whitespace().partition(|word| word.starts_with(['+', '-']));
    let entry = Entry {
        name: of_type.trim(),
        operands: self::operands(operands),
        results: results.split_whitespace().map(result).collect(),
        attributes: attributes.into_iter().map(renamed).collect(),
        truths: truths.into_iter().map(|word| (&word[1..], word.starts_with('+'))).collect(),
    };
    Some((name.trim(), entry))
}

fn operands(mut text: &'static str) -> Vec<Operand> {
    let mut operands = Vec::new();
    loop {
        text = text.trim_start();
        if text.is_empty() {
            return operands;
        }
        let (word, rest) = match text.strip_prefix('[') {
            Some(inside) => inside.split_once(']').unwrap_or((inside, "")),
            None => text.split_once(' ').unwrap_or((text, "")),
        };
        operands.push(match (word, text.starts_with('[')) {
            (words, true) => Operand::Attribute(of_attribute(words)),
            ("_", false) => Operand::Ignored,
            (slot, false) => Operand::Slot(slot),
        });
        text = rest;
    }
}

fn of_attribute(words: &'static str) -> OfAttribute {
    let mut words = words.split_whitespace();
    let name = words.next().unwrap_or_default();
    let mut slot = || words.next().filter(|slot| *slot != "_");
    let (slot, slot_of_several) = (slot(), slot());
    let (name, kind) = match name.split_once(':') {
        Some((name, "float")) => (name, Kind::Float),
        Some((name, "int")) => (name, Kind::Int),
        Some((name, "text")) => (name, Kind::Text),
        _ => (name, Kind::Same),
    };
    OfAttribute { name, kind, slot, slot_of_several }
}

fn result(word: &'static str) -> Slot {
    match word.split_once('=') {
        Some((slot, operand)) => Slot::Overwritten { slot, operand },
        None => Slot::New(word),
    }
}

fn renamed(word: &'static str) -> Renamed {
    if let Some(name) = word.strip_suffix(":floats") {
        return Renamed { from: name, to: name, is_float: true };
    }
    let (from, to) = word.split_once('=').unwrap_or((word, word));
    Renamed { from, to, is_float: false }
}

#[cfg(test)]
mod tests {
    use super::{Operand, TABLE};
    use crate::convert::from_wire::is_known;

    #[test]
    fn operators_have_the_names_that_are_read() {
        let lines =
            include_str!("operators.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        assert_eq!(TABLE.len(), lines.count(), "each line is an operator of its own");
        let unread: Vec<&str> =
            TABLE.values().map(|entry| entry.name).filter(|name| !is_known(name)).collect();
        assert!(unread.is_empty(), "{unread:?}");
    }

    #[test]
    fn a_line_says_what_operands_are() {
        let Operand::Attribute(shape) = &TABLE["reshape"].operands[1] else { panic!("it is an attribute") };
        assert_eq!(
            (shape.name, shape.slot, shape.slot_of_several),
            ("shape", Some("Shape"), Some("ShapeTensor"))
        );
        assert_eq!(TABLE["matmul"].attribute("transpose_x"), ("trans_x", false));
        assert_eq!(TABLE["tril"].truths, [("lower", true)]);
    }
}
