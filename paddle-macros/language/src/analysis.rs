//! The front end from tokens to programs: parse → resolve → lower. A network with mistakes is lowered too, to find more
//! of them: a failed expression has an unknown value, which silences the expressions that use it.

use std::collections::BTreeMap;

use paddle_core::ops::Custom;

use crate::ast::{BindingId, FunctionId, Shown};
use crate::files::Files;
use crate::import::Payload;
use crate::lower::{Lowered, declare, inputs, lower};
use crate::parse::{Form, Invocation, Source};
use crate::report::{Extent, Report, Sink};
use crate::resolve::resolve;
use crate::sharing;
use crate::training;

/// The result of analysing the tokens of an invocation.
pub struct Analysis {
    /// `None` if the tokens are not valid Rust.
    pub source: Option<Source>,
    /// The topologies, each with the index of its function.
    pub lowered: Vec<(usize, Lowered)>,
    /// The operators that are declared here, each with the index of its function; `None` for one with mistakes.
    pub operators: Vec<(usize, Option<Custom>)>,
    /// The mistakes, in the order in which they were found.
    pub reports: Vec<Report>,
    /// The doubts: places where the user may have meant something else.
    pub doubts: Vec<Report>,
}

/// Analyses an invocation. `payloads` are the sources of its imports. `sink` holds the errors that reading its tokens
/// gave.
pub fn analyse(
    invocation: Option<Invocation>,
    imported: Vec<Payload>,
    files: Files,
    mut sink: Sink,
) -> Analysis {
    let Some(invocation) = invocation else {
        return Analysis {
            source: None,
            lowered: Vec::new(),
            operators: Vec::new(),
            reports: sink.finish(),
            doubts: sink.doubts(),
        };
    };
    let mut source = invocation.parse(imported, files, &mut sink);
    let is_finite = resolve(&mut source.network, &mut sink);
    let network = &source.network;
    let is_closure = matches!(source.form, Form::Expression);
    let topologies = (0..network.functions.len()).filter(|&at| {
        let function = &network.functions[at];
        network.is_here(function.unit) && (is_closure || function.is_topology())
    });
    let is_known = sink.is_empty();
    let can_be_lowered = is_finite && !network.is_incomplete();
    let mut lowered = topologies
        .map(|at| {
            let function = FunctionId(at);
            let lowered = match can_be_lowered {
                true => lower(network, function, is_known, &mut sink),
                false => inputs(network, function),
            };
            (at, lowered)
        })
        .collect::<Vec<_>>();
    let declared = (0..network.functions.len()).filter(|&at| {
        let function = &network.functions[at];
        network.is_here(function.unit) && function.operator.is_some()
    });
    let operators = declared
        .map(|at| {
            let function = FunctionId(at);
            (at, can_be_lowered.then(|| declare(network, function, is_known, &mut sink)).flatten())
        })
        .collect::<Vec<_>>();
    if let Form::Module { .. } = source.form {
        sharing::check(network, &lowered, &mut sink);
    }
    training::check(&lowered, &mut sink);
    let mut shown: BTreeMap<BindingId, Shown> = BTreeMap::new();
    for (binding, ty) in lowered.iter_mut().flat_map(|(_, lowered)| std::mem::take(&mut lowered.shown)) {
        shown.entry(binding).and_modify(|known| known.merge(&ty)).or_insert(ty);
    }
    source.network.show(shown);
    let (reports, mut doubts) = (sink.finish(), sink.doubts());
    // Nobody can change what a file has.
    let is_included = |at: Extent| source.network.included.iter().any(|model| model.at.is(at));
    doubts.retain(|doubt| !is_included(doubt.blame.at));
    Analysis { lowered, operators, reports, doubts, source: Some(source) }
}
