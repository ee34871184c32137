//! Reports → `compile_error!`s, whose tokens have the places of the mistakes.

use paddle_language::report::{Extent, Report};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

use crate::files::files;

/// Errors that are valid both as items and as values.
pub(crate) fn tokens(reports: &[Report]) -> Vec<TokenStream> {
    reports.iter().map(|report| compile_error(&report.text(&files()), report.blame.at)).collect()
}

/// Makes rustc print a warning at the first of the tokens. It is about the use of something deprecated, the only
/// warning that a macro can cause.
pub(crate) fn warning(report: &Report) -> TokenStream {
    let (text, Extent { start, .. }) = (report.text(&files()), report.blame.at);
    let name = Ident::new("doubtful", Span::mixed_site());
    let used = quote_spanned!(start.resolved_at(name.span())=> doubtful);
    quote! {
        const _: () = {
            #[deprecated(note = #text)]
            #[allow(non_upper_case_globals)]
            const #name: () = ();
            #used
        };
    }
}

pub(crate) fn compile_error(message: &str, at: Extent) -> TokenStream {
    let head = quote_spanned!(at.start=> ::core::compile_error!);
    let body = group(Delimiter::Brace, quote_spanned!(at.end=> #message), at.end);
    quote!(#head #body)
}

/// A panic at the place of the source's tokens.
pub(crate) fn panic(at: Extent, arguments: &TokenStream) -> TokenStream {
    let head = quote_spanned!(at.start=> ::core::panic!);
    let body = group(Delimiter::Parenthesis, arguments.clone(), at.end);
    quote!(#head #body)
}

/// A call at the place of the source's tokens. Unlike a panic's, rustc also shows its place from other crates.
pub(crate) fn call(at: Extent, function: &TokenStream, arguments: &TokenStream) -> TokenStream {
    let head = function.clone().into_iter().map(|mut token| {
        token.set_span(at.start);
        token
    });
    head.chain(group(Delimiter::Parenthesis, arguments.clone(), at.end)).collect()
}

fn group(delimiter: Delimiter, inner: TokenStream, at: Span) -> TokenStream {
    let mut group = Group::new(delimiter, inner);
    group.set_span(at);
    TokenTree::from(group).into()
}
