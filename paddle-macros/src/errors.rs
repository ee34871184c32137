//! Reports → tokens that make rustc print them.
//!
//! A mistake with one place is a `compile_error!` whose tokens have that place. One with several, such as a first use
//! or the calls that led to it, is a panic in a chain of `const fn`s: rustc shows each call of the chain.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

use crate::report::{Extent, Report};

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

/// A call whose range of tokens is that of the source.
fn call(name: &Ident, at: Extent) -> TokenStream {
    let mut name = name.clone();
    name.set_span(at.start);
    let parens = group(Delimiter::Parenthesis, TokenStream::new(), at.end);
    quote!(#name #parens)
}

fn group(delimiter: Delimiter, inner: TokenStream, at: Span) -> TokenStream {
    let mut group = Group::new(delimiter, inner);
    group.set_span(at);
    TokenTree::from(group).into()
}

fn chain(report: &Report) -> TokenStream {
    let message = report.text();
    // What is called, and where: the user's calls from outside in, then the first use.
    let mut links: Vec<(Ident, Extent)> =
        report.calls.iter().map(|frame| (identifier(&frame.name), frame.call)).collect();
    let mut panics_at = report.at;
    if let Some(first) = report.first {
        links.push((identifier("first_used_here"), report.at));
        panics_at = first;
    }
    let head = quote_spanned!(panics_at.start=> ::core::panic!);
    let body = group(Delimiter::Parenthesis, quote_spanned!(panics_at.end=> "{}", #message), panics_at.end);
    // From the inside out: each function calls the one behind it.
    let body = links.iter().rev().fold(quote!(#head #body), |body, (name, at)| {
        let call = call(name, *at);
        quote! {
            const fn #name() { #body }
            #call
        }
    });
    quote! {
        #[allow(non_upper_case_globals)]
        const _: () = { const network: () = { #body }; };
    }
}

fn identifier(name: &str) -> Ident {
    let here = Span::mixed_site();
    if syn::parse_str::<Ident>(name).is_ok() { Ident::new(name, here) } else { Ident::new_raw(name, here) }
}
