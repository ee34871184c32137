//! Updates on their way to the wire.

use super::operators::push_float;
use crate::ops::{Attribute, Attributes, Momentum, Number, Update, UpdateRows};
use crate::wire::{OpAttr, OpDesc};

/// How [`Momentum`] is told that it is to decay.
pub(in crate::convert) const L2: &str = "l2_decay";

/// The output that holds what the operand in a slot has become.
pub(in crate::convert) fn changed(slot: &str) -> String {
    format!("{}Out", slot.replace("Accumulator", "Accum"))
}

/// The attributes of an update and, in `desc`, its outputs.
pub(super) fn describe(update: &Update, desc: &mut OpDesc) -> Vec<OpAttr> {
    for slot in update.changed_slots() {
        let arguments = desc.input(slot).to_vec();
        *desc = std::mem::take(desc).with_output(changed(slot), arguments);
    }
    let mut attrs = numbers(update);
    match update {
        Update::AdamW(_) => attrs.push(OpAttr::bool("with_decay", true)),
        Update::Momentum(Momentum { regularization_coeff, .. }) => {
            // -0.0 is another number.
            let method = if regularization_coeff.to_bits() == 0 { "" } else { L2 };
            attrs.push(OpAttr::string("regularization_method", method));
        }
        _ => {}
    }
    attrs
}

/// The attributes of an update of rows, which is ours.
pub(super) fn describe_rows(op: &UpdateRows) -> Vec<OpAttr> {
    let UpdateRows { update, padding_idx } = op;
    let own = [OpAttr::long("padding_idx", *padding_idx)];
    own.into_iter().chain(numbers(update)).collect()
}

fn numbers(update: &Update) -> Vec<OpAttr> {
    let mut attrs = Vec::new();
    for (name, attribute) in update.to_attributes() {
        match attribute {
            Attribute::Number(Number::Bool(value)) => attrs.push(OpAttr::bool(name, value)),
            Attribute::Number(value) => push_float(&mut attrs, name, value.as_f64()),
            _ => {}
        }
    }
    attrs
}
