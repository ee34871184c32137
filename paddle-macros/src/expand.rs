//! Expansion: tokens → tokens, by the front end and `emit`.

use paddle_language::analyse;
use paddle_language::messages::Message;
use paddle_language::parse::{Invocation, repair};
use paddle_language::report::{Extent, Sink};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, quote};

use crate::emit::emit;
use crate::errors;
use crate::files::files;
use crate::protocol::{self, payloads};

/// The answers before any question was asked.
fn unasked(_: &[TokenStream]) -> Vec<bool> {
    Vec::new()
}

/// Expands `network!(..)`, or a module with `#[network]`.
pub(crate) fn expand(tokens: TokenStream) -> TokenStream {
    let mut sink = Sink::default();
    let invocation = Invocation::read(tokens.clone(), unasked, &mut sink);
    expand_read(invocation, sink, tokens)
}

/// Expands an invocation that has been read. `sink` has the mistakes of reading it.
fn expand_read(invocation: Option<Invocation>, mut sink: Sink, tokens: TokenStream) -> TokenStream {
    let nothing = TokenStream::new();
    let head = invocation.as_ref().and_then(Invocation::head);
    let continuation = match head {
        None => quote!(::paddle::__import),
        // The paths are resolved in the module.
        Some(_) => quote!(::paddle::__import_items),
    };
    let next = invocation
        .as_ref()
        .and_then(|invocation| protocol::next(invocation, continuation, &nothing, &tokens));
    let Some(next) = next else {
        return compile(invocation, nothing, sink, true);
    };
    // These mistakes are reported again once everything is known.
    sink.finish();
    match head {
        None => next,
        Some(head) => quote!(#head { #next }),
    }
}

/// Continues an invocation after a question has been answered.
pub(crate) fn continued(tokens: TokenStream, continuation: TokenStream, shell: bool) -> TokenStream {
    let Some((done, rest)) = protocol::called_back(tokens) else { return TokenStream::new() };
    let mut sink = Sink::default();
    let invocation =
        Invocation::read(rest.clone(), |predicates| protocol::answers(&done, predicates), &mut sink);
    let next =
        invocation.as_ref().and_then(|invocation| protocol::next(invocation, continuation, &done, &rest));
    match next {
        Some(next) => {
            sink.finish();
            next
        }
        None => compile(invocation, done, sink, shell),
    }
}

/// Compiles an invocation when everything is known. Without `shell`, only the items of a module are emitted.
fn compile(invocation: Option<Invocation>, done: TokenStream, sink: Sink, shell: bool) -> TokenStream {
    let imported =
        invocation.as_ref().map(|invocation| protocol::sources(invocation, done)).unwrap_or_default();
    let analysis = analyse(invocation, payloads(imported.clone()), files(), sink);
    match &analysis.source {
        Some(source) => emit(source, &analysis, &imported, shell),
        None => {
            let errors = errors::tokens(&analysis.reports);
            quote!(#(#errors)*)
        }
    }
}

/// The attribute form: `item` is the module behind the attribute.
pub(crate) fn attribute(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if arguments.is_empty() {
        // rustc has already reported syntax errors in the item. The module stays, for code that names it.
        let mut sink = Sink::default();
        let invocation = Invocation::read(item.clone(), unasked, &mut sink);
        // Valid Rust that is not a module is reported.
        if !sink.is_closed() || syn::parse2::<syn::Item>(item.clone()).is_ok() {
            return expand_read(invocation, sink, item);
        }
        sink.finish();
        return match repair::repaired::<syn::ItemMod>(item.clone()) {
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

/// An empty module in place of the item.
fn without_body(item: TokenStream) -> TokenStream {
    let is_body =
        |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    let head: TokenStream = item.into_iter().take_while(|token| !is_body(token)).collect();
    quote!(#head {})
}
