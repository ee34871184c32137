//! The options of parameters: attributes of the operators that initialise them, in our dialect only.

use super::error::Fault;
use crate::program::ParameterOptions;
use crate::wire::{OpAttr, OpDesc};

/// The user chose the initialiser.
const CHOSEN: &str = "rust.chosen";
/// The parameter has no gradient.
const UNTRAINED: &str = "rust.untrained";
/// The name that the parameter has in older files.
const FORMER: &str = "rust.former";
/// The numbers, by their names in the language.
const NUMBERS: [(&str, &str); 3] = [("lr", "rust.lr"), ("decay", "rust.decay"), ("clip", "rust.clip")];

/// Writes the options that differ from the defaults.
pub(super) fn write(options: &ParameterOptions, desc: &mut OpDesc) {
    for (name, set) in [(CHOSEN, options.chosen), (UNTRAINED, !options.trainable)] {
        if set {
            desc.attrs.push(OpAttr::bool(name, true));
        }
    }
    for ((_, name), (_, value)) in NUMBERS.iter().zip(options.numbers()) {
        if let Some(value) = value {
            desc.attrs.push(OpAttr::double(*name, value));
        }
    }
    if let Some(former) = &options.former {
        desc.attrs.push(OpAttr::string(FORMER, former));
    }
}

/// Reads the options.
pub(super) fn read(desc: &OpDesc) -> Result<ParameterOptions, Fault> {
    let flag = |name: &str| Ok::<_, Fault>(desc.attr_bool(name)?.unwrap_or(false));
    let mut options = ParameterOptions {
        chosen: flag(CHOSEN)?,
        trainable: !flag(UNTRAINED)?,
        former: desc.attr_string(FORMER)?.map(str::to_string),
        ..ParameterOptions::default()
    };
    for (option, attribute) in NUMBERS {
        if let (Some(number), Some(value)) = (options.number_mut(option), desc.attr_double(attribute)?) {
            *number = Some(value);
        }
    }
    Ok(options)
}
