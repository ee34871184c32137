//! Writes updates.

use crate::convert::derived;
use crate::ops::{Momentum, Op, Update};
use crate::wire::{OpAttr, OpDesc};

/// The word with which [`Momentum`] decays.
pub(in crate::convert) const L2: &str = "l2_decay";

/// The attributes of an update. Its outputs are added to `desc`: the values that it changes, as far as these depend on
/// attributes.
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
            // -0.0 is not the same number as 0.0.
            let method = if regularization_coeff.to_bits() == 0 { "" } else { L2 };
            attrs.push(OpAttr::string("regularization_method", method));
        }
        _ => {}
    }
    attrs
}
