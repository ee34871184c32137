//! The front end from tokens to tokens: parse → resolve → lower → emit. What has mistakes is lowered all the same, to
//! find others: a failed expression has an unknown value that silences what consumes it.

use std::collections::BTreeMap;

use paddle_core::ops::Custom;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, quote};

use crate::ast::{BindingId, FunctionId, Shown};
use crate::emit::emit;
use crate::errors;
use crate::import::{self, payloads};
use crate::lower::{Lowered, declare, inputs, lower};
use crate::messages::Message;
use crate::parse::{Form, Invocation, Source, syntax};
use crate::report::{Extent, Report, Sink};
use crate::resolve::resolve;
use crate::sharing;
use crate::training;

/// What the front end makes of the tokens of an invocation.
pub(crate) struct Analysis {
    /// Not there when the tokens are not Rust.
    pub(crate) source: Option<Source>,
    /// The topologies, by the numbers of their functions.
    pub(crate) lowered: Vec<(usize, Lowered)>,
    /// The operators that are declared here, likewise; `None` for one that has mistakes.
    pub(crate) operators: Vec<(usize, Option<Custom>)>,
    pub(crate) reports: Vec<Report>,
    /// What may be meant.
    pub(crate) doubts: Vec<Report>,
}

/// Analyses the tokens of an invocation whose imports have these sources.
#[cfg(test)]
pub(crate) fn analyse(tokens: TokenStream, imported: TokenStream) -> Analysis {
    let (mut sink, mut unheard) = (Sink::default(), Sink::default());
    // Of predicates the tests have two: `all()` holds, and `any()` does not.
    let asked = Invocation::read(tokens.clone(), &TokenStream::new(), &mut unheard);
    unheard.finish();
    let asked = asked.map(Invocation::into_predicates).unwrap_or_default();
    let answers = asked.iter().map(|predicate| match predicate.to_string().as_str() {
        "any ()" => quote!({ false }),
        _ => quote!({ true }),
    });
    let answers = answers.collect();
    let invocation = Invocation::read(tokens, &answers, &mut sink);
    analyse_invocation(invocation, imported, sink)
}

/// Analyses an invocation whose imports have these sources. `sink` has what was wrong with its tokens.
fn analyse_invocation(invocation: Option<Invocation>, imported: TokenStream, mut sink: Sink) -> Analysis {
    let Some(invocation) = invocation else {
        return Analysis {
            source: None,
            lowered: Vec::new(),
            operators: Vec::new(),
            reports: sink.finish(),
            doubts: sink.doubts(),
        };
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
    Analysis { lowered, operators, reports: sink.finish(), doubts: sink.doubts(), source: Some(source) }
}

/// Expands `network!(..)`, or a module behind `#[network]`.
pub(crate) fn expand(tokens: TokenStream) -> TokenStream {
    let mut sink = Sink::default();
    let invocation = Invocation::read(tokens.clone(), &TokenStream::new(), &mut sink);
    expand_read(invocation, sink, tokens)
}

/// Expands what these tokens were read as. `sink` has what was wrong with them.
fn expand_read(invocation: Option<Invocation>, mut sink: Sink, tokens: TokenStream) -> TokenStream {
    let nothing = TokenStream::new();
    let head = invocation.as_ref().and_then(Invocation::head);
    let continuation = match head {
        None => quote!(::paddle::__import),
        // The paths are those that the module sees.
        Some(_) => quote!(::paddle::__import_items),
    };
    let next = invocation.as_ref().and_then(|invocation| invocation.next(continuation, &nothing, &tokens));
    let Some(next) = next else {
        return compile(invocation, nothing, sink, true);
    };
    // What is wrong with it is reported when everything is known.
    sink.finish();
    match head {
        None => next,
        Some(head) => quote!(#head { #next }),
    }
}

/// Goes on with an invocation of which some names have been imported.
pub(crate) fn continued(tokens: TokenStream, continuation: TokenStream, shell: bool) -> TokenStream {
    let Some((done, rest)) = import::called_back(tokens) else { return TokenStream::new() };
    let mut sink = Sink::default();
    let invocation = Invocation::read(rest.clone(), &done, &mut sink);
    let next = invocation.as_ref().and_then(|invocation| invocation.next(continuation, &done, &rest));
    match next {
        Some(next) => {
            sink.finish();
            next
        }
        None => compile(invocation, done, sink, shell),
    }
}

/// Compiles an invocation of which everything is known. Without `shell`, a module's items alone are emitted.
fn compile(invocation: Option<Invocation>, done: TokenStream, sink: Sink, shell: bool) -> TokenStream {
    let imported = invocation.as_ref().map(|invocation| invocation.sources(done)).unwrap_or_default();
    let analysis = analyse_invocation(invocation, imported.clone(), sink);
    match &analysis.source {
        Some(source) => emit(source, &analysis, &imported, shell),
        None => {
            let errors = errors::tokens(&analysis.reports);
            quote!(#(#errors)*)
        }
    }
}

/// The attribute form: the module is what the attribute stands before.
pub(crate) fn attribute(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if arguments.is_empty() {
        // rustc reads what it gives to an attribute, and has said what is not Rust. The module stays, for those who name it.
        let mut sink = Sink::default();
        let invocation = Invocation::read(item.clone(), &TokenStream::new(), &mut sink);
        // What is Rust, but no module, is told so.
        if !sink.is_closed() || syn::parse2::<syn::Item>(item.clone()).is_ok() {
            return expand_read(invocation, sink, item);
        }
        sink.finish();
        return match syntax::repaired::<syn::ItemMod>(item.clone()) {
            Some(repaired) => expand(repaired.into_token_stream()),
            None => without_body(item),
        };
    }
    let message = Message::NotOfTheLanguage {
        what: "an argument of `#[network]`".into(),
        instead: "write `#[network]` alone".into(),
    };
    errors::compile_error(&message.to_string(), Extent::of(&arguments))
}

/// A module with nothing in it.
fn without_body(item: TokenStream) -> TokenStream {
    let is_body =
        |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    let head: TokenStream = item.into_iter().take_while(|token| !is_body(token)).collect();
    quote!(#head {})
}
