//! The front end from tokens to tokens: parse → resolve → lower → emit. What has mistakes is lowered all the same, to
//! find others: a failed expression has an unknown value that silences what consumes it.

use paddle_core::ops::Custom;
use proc_macro2::TokenStream;
use quote::quote;

use crate::ast::FunctionId;
use crate::emit::emit;
use crate::errors;
use crate::import::{self, payloads};
use crate::lower::{Lowered, declare, inputs, lower};
use crate::messages::Message;
use crate::parse::{Form, Invocation, Source};
use crate::report::{Extent, Report, Sink};
use crate::resolve::resolve;
use crate::sharing;

/// What the front end makes of the tokens of an invocation.
pub(crate) struct Analysis {
    /// Not there when the tokens are not Rust.
    pub(crate) source: Option<Source>,
    /// The topologies, by the numbers of their functions.
    pub(crate) lowered: Vec<(usize, Lowered)>,
    /// The operators that are declared here, likewise; `None` for one that has mistakes.
    pub(crate) operators: Vec<(usize, Option<Custom>)>,
    pub(crate) reports: Vec<Report>,
}

/// Analyses the tokens of an invocation whose imports have these sources.
#[cfg(test)]
pub(crate) fn analyse(tokens: TokenStream, imported: TokenStream) -> Analysis {
    let mut sink = Sink::default();
    let invocation = Invocation::read(tokens, &mut sink);
    analyse_invocation(invocation, imported, sink)
}

/// Analyses an invocation whose imports have these sources. `sink` has what was wrong with its tokens.
fn analyse_invocation(invocation: Option<Invocation>, imported: TokenStream, mut sink: Sink) -> Analysis {
    let Some(invocation) = invocation else {
        return Analysis { source: None, lowered: Vec::new(), operators: Vec::new(), reports: sink.finish() };
    };
    let mut source = invocation.parse(payloads(imported), &mut sink);
    let is_finite = resolve(&mut source.network, &mut sink);
    let network = &source.network;
    let is_closure = matches!(source.form, Form::Expression);
    let topologies = (0..network.functions.len()).filter(|&at| {
        let function = &network.functions[at];
        network.is_here(function.unit) && (is_closure || function.is_topology())
    });
    let is_known = sink.is_empty();
    let can_be_lowered = is_finite && !network.is_incomplete();
    let lowered = topologies
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
    Analysis { lowered, operators, reports: sink.finish(), source: Some(source) }
}

/// Expands `network!(..)`, or a module behind `#[network]`.
pub(crate) fn expand(tokens: TokenStream) -> TokenStream {
    let mut sink = Sink::default();
    let invocation = Invocation::read(tokens.clone(), &mut sink);
    let nothing = TokenStream::new();
    let Some((invocation, first)) = invocation.as_ref().and_then(|all| Some((all, all.uses.first()?))) else {
        return compile(invocation, nothing, sink, true);
    };
    // What is wrong with it is reported when everything is imported.
    sink.finish();
    match invocation.head() {
        None => import::call(first, quote!(::paddle::__import), &nothing, &tokens),
        Some(head) => {
            // The paths are those that the module sees.
            let call = import::call(first, quote!(::paddle::__import_items), &nothing, &tokens);
            quote!(#head { #call })
        }
    }
}

/// Goes on with an invocation of which some names have been imported.
pub(crate) fn continued(tokens: TokenStream, continuation: TokenStream, shell: bool) -> TokenStream {
    let Some((done, rest)) = import::called_back(tokens) else { return TokenStream::new() };
    let mut sink = Sink::default();
    let invocation = Invocation::read(rest.clone(), &mut sink);
    let next =
        invocation.as_ref().and_then(|invocation| invocation.uses.get(done.clone().into_iter().count()));
    match next {
        Some(next) => {
            sink.finish();
            import::call(next, continuation, &done, &rest)
        }
        None => compile(invocation, done, sink, shell),
    }
}

/// Compiles an invocation. Without `shell`, a module's items alone are emitted.
fn compile(invocation: Option<Invocation>, imported: TokenStream, sink: Sink, shell: bool) -> TokenStream {
    let Analysis { source, lowered, operators, reports } =
        analyse_invocation(invocation, imported.clone(), sink);
    match source {
        Some(source) => emit(&source, &lowered, &operators, &reports, &imported, shell),
        None => {
            let errors = errors::tokens(&reports);
            let errors = errors.all();
            quote!(#(#errors)*)
        }
    }
}

/// The attribute form: the module is what the attribute stands before.
pub(crate) fn attribute(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if arguments.is_empty() {
        return expand(item);
    }
    let message = Message::NotOfTheLanguage {
        what: "an argument of `#[network]`".into(),
        instead: "write `#[network]` alone".into(),
    };
    errors::compile_error(&message.to_string(), Extent::of(&arguments))
}
