//! Sharing: checks that the topologies of a module agree on their shared parameters.

use std::collections::BTreeSet;

use paddle_core::ops::Program;
use paddle_core::program::{Dim, Disagreement, VarId};

use crate::ast::{Network, text};
use crate::lower::Lowered;
use crate::messages::Message;
use crate::report::{Report, Sink};

/// The generated module that has the names of the parameters.
pub const NAMES: &str = "params";

/// Reports parameters that two topologies use differently, and a topology whose name is that of the generated module.
///
/// Parameters that depend on outside sizes are left to rustc, which knows their values.
pub fn check(network: &Network, lowered: &[(usize, Lowered)], sink: &mut Sink) {
    for (at, _) in lowered {
        let ident = &network.functions[*at].ident;
        if text(ident) == NAMES {
            sink.error(ident.span(), Message::ReservedName { name: NAMES.into() });
        }
    }
    let mut reported = BTreeSet::new();
    for (second_at, (_, second)) in lowered.iter().enumerate() {
        for (_, first) in &lowered[..second_at] {
            compare(network, first, second, &mut reported, sink);
        }
    }
}

/// Whether rustc has to compare parameters of the module.
pub fn is_open(lowered: &[(usize, Lowered)]) -> bool {
    let mut programs = lowered.iter().filter_map(|(_, lowered)| lowered.program.as_ref());
    programs.any(|program| program.parameters().any(|parameter| !is_known(program, parameter)))
}

fn is_known(program: &Program, parameter: VarId) -> bool {
    program.ty(parameter).dims.iter().map(Dim::constant).all(|size| size.is_some())
}

/// Compares the parameters of two topologies. A layer whose parameters all disagree gives one mistake.
fn compare(
    network: &Network,
    first: &Lowered,
    second: &Lowered,
    reported: &mut BTreeSet<String>,
    sink: &mut Sink,
) {
    let (Some(one), Some(other)) = (&first.program, &second.program) else { return };
    for parameter in other.parameters() {
        let name = &other.var(parameter).name;
        let Some(namesake) = one.find(name).filter(|&var| is_known(one, var)) else { continue };
        let (Some(known), Some(here)) = (one.parameter(namesake), other.parameter(parameter)) else {
            continue;
        };
        let Err(Disagreement { first: was, second: is }) = known.agree(&here) else { continue };
        let path = name.rsplit_once('.').map_or(name.as_str(), |(path, _)| path);
        // A parameter is used under its own name if a layer lists the names of its parameters.
        let used = |lowered: &Lowered| lowered.uses.get(name).or_else(|| lowered.uses.get(path)).cloned();
        let (Some(known), Some(here)) = (used(first), used(second)) else { continue };
        if is_known(other, parameter) && reported.insert(path.to_string()) {
            let place = network.files.place(known.beside(here.at));
            let message = Message::ParameterConflict { name: name.clone(), here: is, first: was, place };
            sink.push(Report { message, blame: here });
        }
    }
}
