//! Trainability: which topologies can be trained, and which parameters are mistakes.
//!
//! A topology whose first result is a floating-point scalar with a derivative is a cost. A parameter without a path to
//! the cost is a mistake, unless the user marks it by `stop_gradient` or `_`, or freezes it in a training. The front
//! end does not know about freezing, so it leaves parameters that influence other results, or the labels of the cost,
//! to the training.

use std::collections::BTreeSet;

use paddle_core::ops::{GradientError, Program};
use paddle_core::passes::{Paths, Untrained, check_trainable};
use paddle_core::program::VarId;

use crate::lower::Lowered;
use crate::messages::Message;
use crate::report::{Blame, Report, Sink};

/// The reason why a topology cannot be trained.
pub struct Refusal {
    pub why: GradientError,
    /// Whether it can be trained if parameters are frozen.
    pub unless_frozen: bool,
}

/// The reason why a topology cannot be trained, if it cannot.
pub fn refusal(lowered: &Lowered) -> Option<Refusal> {
    let program = lowered.program.as_ref()?;
    let why = check_trainable(program).err()?;
    let paths = Paths::of(program).ok().filter(|paths| !paths.trained.is_empty());
    Some(Refusal { why, unless_frozen: paths.is_some_and(|paths| missing(&paths).next().is_some()) })
}

/// Parameters that should be trained, have no gradient, and are not marked by the user.
fn missing(paths: &Paths<'_>) -> impl Iterator<Item = (VarId, Untrained)> {
    paths.untrained.iter().copied().filter(|(_, why)| *why != Untrained::LeftOut)
}

/// The layer that creates a parameter.
fn layer<'l>(lowered: &'l Lowered, name: &str) -> Option<&'l Blame> {
    lowered.uses.get(name).or_else(|| lowered.uses.get(name.rsplit_once('.')?.0))
}

/// Reports parameters of costs that have no path to the cost.
pub fn check(lowered: &[(usize, Lowered)], sink: &mut Sink) {
    // A sub-network that several topologies call is reported once.
    let mut reported = BTreeSet::new();
    for (_, lowered) in lowered {
        let Some(program) = &lowered.program else { continue };
        let Ok(paths) = Paths::of(program) else { continue };
        if paths.trained.is_empty() {
            continue;
        }
        for (parameter, message) in mistakes(program, &paths) {
            let name = &program.var(parameter).name;
            let Some(blame) = layer(lowered, name).cloned() else { continue };
            if reported.insert(name.clone()) {
                sink.push(Report { message, blame });
            }
        }
    }
}

/// If several layers in a chain have unused parameters, only the last one is to blame: the others are used by it.
fn mistakes(program: &Program, paths: &Paths<'_>) -> Vec<(VarId, Message)> {
    let missing: Vec<(VarId, Untrained)> = missing(paths).collect();
    let mut mistakes: Vec<(VarId, Message)> = Vec::new();
    let (mut unused, mut ends): (Vec<VarId>, BTreeSet<VarId>) = Default::default();
    for &(parameter, why) in missing.iter().rev() {
        // The first parameter of a layer stands for all of them.
        let layer = |parameter: VarId| {
            let name = &program.var(parameter).name;
            name.rsplit_once('.').map_or(name.as_str(), |(layer, _)| layer)
        };
        let first = missing.iter().find(|(other, _)| layer(*other) == layer(parameter));
        let name = first.map_or(parameter, |(first, _)| *first);
        let name = program.var(name).name.clone();
        match (why, paths.ended_by(parameter)) {
            (Untrained::Unused, _) if !unused.iter().any(|&other| paths.meet(parameter, other)) => {
                unused.push(parameter);
                mistakes.push((parameter, Message::UnusedParameter { name }));
            }
            (Untrained::Ended, Some((operator, place))) if ends.insert(operator.outputs[0]) => {
                let place = place.map(|place| format!(", at {place},")).unwrap_or_default();
                let ended = format!("`{}`{place}", program.called(operator));
                mistakes.push((parameter, Message::NoGradient { name, ended }));
            }
            _ => {}
        }
    }
    mistakes
}
