//! Reports → tokens that make rustc print them.
//!
//! A mistake with one place is a `compile_error!` whose tokens have that place. One with several, such as a first use
//! or the calls that led to it, is a panic in a chain of `const fn`s: rustc shows each call of the chain.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

use crate::names::identifier;
use crate::report::{Extent, Frame, Report};

/// What the reports become.
pub(crate) struct Tokens {
    /// Errors that can stand for an item or for a value.
    pub(crate) plain: Vec<TokenStream>,
    /// Items.
    pub(crate) chains: Vec<TokenStream>,
}

impl Tokens {
    pub(crate) fn all(&self) -> impl Iterator<Item = &TokenStream> {
        self.chains.iter().chain(&self.plain)
    }
}

pub(crate) fn tokens(reports: &[Report]) -> Tokens {
    let (plain, chained): (Vec<&Report>, Vec<&Report>) =
        reports.iter().partition(|report| report.calls.is_empty() && report.first.is_none());
    Tokens {
        plain: plain.into_iter().map(|report| compile_error(&report.text(), report.at)).collect(),
        chains: chained.into_iter().map(chain).collect(),
    }
}

pub(crate) fn compile_error(message: &str, at: Extent) -> TokenStream {
    let head = quote_spanned!(at.start=> ::core::compile_error!);
    let body = group(Delimiter::Brace, quote_spanned!(at.end=> #message), at.end);
    quote!(#head #body)
}

/// A panic whose range of tokens is that of the source.
pub(crate) fn panic(at: Extent, arguments: &TokenStream) -> TokenStream {
    let head = quote_spanned!(at.start=> ::core::panic!);
    let body = group(Delimiter::Parenthesis, arguments.clone(), at.end);
    quote!(#head #body)
}

/// A call whose range of tokens is that of the source. Unlike a panic, rustc shows it there from other crates, too.
pub(crate) fn call(at: Extent, function: &TokenStream, arguments: &TokenStream) -> TokenStream {
    let head = function.clone().into_iter().map(|mut token| {
        token.set_span(at.start);
        token
    });
    head.chain(group(Delimiter::Parenthesis, arguments.clone(), at.end)).collect()
}

/// The body inside of `const fn`s that stand for the user's calls, each called with the tokens of its call.
/// `parameters` and `arguments` are what they pass on.
pub(crate) fn calls(
    frames: &[Frame],
    parameters: &TokenStream,
    arguments: &TokenStream,
    body: TokenStream,
) -> TokenStream {
    // From the inside out: each function calls the one behind it.
    frames.iter().rev().fold(body, |body, frame| {
        let name = identifier(&frame.name);
        let mut called = name.clone();
        called.set_span(frame.call.start);
        let passed = group(Delimiter::Parenthesis, arguments.clone(), frame.call.end);
        quote! {
            const fn #name(#parameters) { #body }
            #called #passed
        }
    })
}

fn group(delimiter: Delimiter, inner: TokenStream, at: Span) -> TokenStream {
    let mut group = Group::new(delimiter, inner);
    group.set_span(at);
    TokenTree::from(group).into()
}

fn chain(report: &Report) -> TokenStream {
    let message = report.text();
    // The user's calls from outside in, then the first use.
    let mut links = report.calls.clone();
    let mut panics_at = report.at;
    if let Some(first) = report.first {
        links.push(Frame { name: "first_used_here".to_string(), call: report.at, here: true });
        panics_at = first;
    }
    let body = panic(panics_at, &quote!("{}", #message));
    let body = calls(&links, &TokenStream::new(), &TokenStream::new(), body);
    quote! {
        #[allow(non_upper_case_globals)]
        const _: () = { const network: () = { #body }; };
    }
}
