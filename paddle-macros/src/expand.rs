//! The front end from tokens to tokens: parse → resolve → lower → emit, with a barrier before lowering.

use proc_macro2::TokenStream;
use quote::quote;

use crate::ast::FunctionId;
use crate::emit::emit;
use crate::errors;
use crate::lower::{Lowered, inputs, lower};
use crate::messages::Message;
use crate::parse::{Source, parse};
use crate::report::{Extent, Report, Sink};
use crate::resolve::resolve;

/// What the front end makes of the tokens of an invocation.
pub(crate) struct Analysis {
    /// Not there when the tokens are not Rust.
    pub(crate) source: Option<Source>,
    /// The topologies, by the numbers of their functions.
    pub(crate) lowered: Vec<(usize, Lowered)>,
    pub(crate) reports: Vec<Report>,
}

pub(crate) fn analyse(tokens: TokenStream) -> Analysis {
    let mut sink = Sink::default();
    let Some(mut source) = parse(tokens, &mut sink) else {
        return Analysis { source: None, lowered: Vec::new(), reports: sink.finish() };
    };
    resolve(&mut source.network, &mut sink);
    let network = &source.network;
    let topologies = (0..network.functions.len()).filter(|&at| network.functions[at].topology);
    let names_are_right = sink.is_empty();
    let lowered = topologies
        .map(|at| {
            let function = FunctionId(at);
            let lowered = match names_are_right {
                true => lower(network, function, &mut sink),
                false => Lowered { inputs: inputs(network, function), program: None },
            };
            (at, lowered)
        })
        .collect();
    Analysis { lowered, reports: sink.finish(), source: Some(source) }
}

pub(crate) fn expand(tokens: TokenStream) -> TokenStream {
    let Analysis { source, lowered, reports } = analyse(tokens);
    match source {
        Some(source) => emit(&source, &lowered, &reports),
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
