//! What all updates have in common, as the settings of a training; what they do not is an option of parameters.

use std::collections::{BTreeMap, BTreeSet};

use super::meaning::Updated;
use crate::ops::Program;
use crate::passes::clip::Clip;
use crate::passes::optimize::Decay;
use crate::program::ParameterOptions;

/// The clipping and the decay of all parameters; none where those of parameters differ, and options can say so.
pub(super) fn common(updates: &BTreeMap<&str, Updated<'_>>) -> Result<(Option<Clip>, Option<Decay>), String> {
    let names: BTreeSet<&str> = updates.keys().copied().collect();
    for (name, updated) in updates.iter().filter(|(_, updated)| !updated.clipped_with.is_empty()) {
        let with = &updated.clipped_with;
        if let Some(other) = names.symmetric_difference(with).next() {
            return Err(format!(
                "the gradient of `{name}` is clipped by a norm over some gradients, but that of `{other}` is no part of both \
                 the norm and the updates; only a norm over all of them is supported"
            ));
        }
    }
    let all = |of: fn(&Updated<'_>) -> bool| updates.values().all(of);
    let clip = same(updates.values().map(|updated| updated.gradient.clip));
    let of_value = all(|updated| matches!(updated.gradient.clip, None | Some(Clip::Value(_))));
    if clip.is_none() && !of_value {
        return Err(
            "gradients are clipped by norms, but not all of them alike, which is not supported".to_string()
        );
    }
    let decay = same(updates.values().map(|updated| updated.gradient.decay));
    let of_l2 = all(|updated| matches!(updated.gradient.decay, None | Some(Decay::L2(_))));
    if decay.is_none() && !of_l2 {
        return Err("some parameters decay by L1, and others do not, which is not supported".to_string());
    }
    Ok((clip.flatten(), decay.flatten()))
}

/// The value that all of them are.
fn same<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// Gives parameters the options in which they differ. Those without an update are not trained.
pub(super) fn set_options(
    program: &mut Program,
    updates: &BTreeMap<&str, Updated<'_>>,
    clip: Option<Clip>,
    decay: Option<Decay>,
) {
    let own_decay = updates.values().any(|updated| updated.gradient.decay != decay);
    let parameters: Vec<_> = program.parameters().collect();
    for parameter in parameters {
        let options = program.parameter_options(parameter).clone();
        let options = match updates.get(program.var(parameter).name.as_str()) {
            None => ParameterOptions { trainable: false, ..options },
            Some(Updated { gradient, factor, .. }) => ParameterOptions {
                lr: Some(*factor).filter(|&factor| factor != 1.0),
                decay: match gradient.decay {
                    Some(Decay::L2(factor)) if own_decay => Some(factor),
                    None if own_decay => Some(0.0),
                    _ => None,
                },
                clip: match gradient.clip {
                    Some(Clip::Value(bound)) if clip.is_none() => Some(bound),
                    _ => None,
                },
                ..options
            },
        };
        program.set_parameter_options(parameter, options);
    }
}
