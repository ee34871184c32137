//! How updates are written.

use crate::convert::derived;
use crate::ops::{Momentum, Op, Update};
use crate::wire::{OpAttr, OpDesc};

/// How [`Momentum`] is told that it is to decay.
pub(in crate::convert) const L2: &str = "l2_decay";

/// The attributes of an update and, in `desc`, its outputs: what it changes, as far as its attributes say so.
pub(super) fn describe(update: &Update, desc: &mut OpDesc) -> Vec<OpAttr> {
    desc.outputs.clear();
    for slot in update.changed_slots() {
        let arguments = desc.input(slot).to_vec();
        *desc = std::mem::take(desc).with_output(derived::changed_slot(slot), arguments);
    }
    let mut attrs = derived::attributes(&Op::Update(*update));
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
