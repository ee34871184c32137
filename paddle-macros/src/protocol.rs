//! Questions to rustc: the sources of imports, and whether predicates of `#[cfg(..)]` hold.
//!
//! A `pub fn` or `pub const` of a module is exported as a macro of its name that carries its source (`emit::export`).
//! An invocation with imports expands to a call of such a macro, which calls `network!` again with the source and the
//! rest of the invocation. So any order of modules and crates works.
//!
//! A macro cannot ask rustc whether a predicate holds either. So an invocation with predicates expands to two small
//! macros of one name, the second behind `#[cfg(predicate)]`, and to a call of that name. rustc takes the last macro
//! that exists, and that calls the front end again with the answer, as the macro of an import does with its source.

use paddle_language::ast;
use paddle_language::import::{ImportedSource, Payload, Use};
use paddle_language::parse::{Asked, Invocation};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::quote;

/// The macro call that asks the next question about an invocation. It calls `continuation` with the answers so far, its
/// own answer, and the rest of the invocation.
pub(crate) fn next(
    invocation: &Invocation,
    continuation: TokenStream,
    done: &TokenStream,
    rest: &TokenStream,
) -> Option<TokenStream> {
    Some(match invocation.asks(done.clone().into_iter().count())? {
        Asked::Predicate(predicate) => ask(predicate, continuation, done, rest, invocation.is_expression()),
        Asked::Import(import) => call(import, continuation, done, rest),
    })
}

/// The answers to these predicates, among the answers so far.
pub(crate) fn answers(done: &TokenStream, predicates: &[TokenStream]) -> Vec<bool> {
    done.clone().into_iter().take(predicates.len()).map(|answer| is_yes(&answer)).collect()
}

/// The payloads of an invocation's imports, among the answers so far.
pub(crate) fn sources(invocation: &Invocation, done: TokenStream) -> TokenStream {
    done.into_iter().skip(invocation.count_of_predicates()).collect()
}

/// Reads `{ "src/models.rs" vector { items } { name { payload } .. } }` for each import; `{ "why" }` for one that is
/// refused; `{}` for one whose module has mistakes.
pub(crate) fn payloads(groups: TokenStream) -> Vec<Payload> {
    let groups = groups.into_iter().filter_map(|token| match token {
        TokenTree::Group(group) => Some(payload(group.stream())),
        _ => None,
    });
    groups.collect()
}

fn payload(tokens: TokenStream) -> Payload {
    let mut tokens = tokens.into_iter();
    let Some(text) = tokens.next().and_then(|token| syn::parse2::<syn::LitStr>(token.into()).ok()) else {
        return Payload::Broken;
    };
    let mut source = |file: String| {
        let TokenTree::Ident(name) = tokens.next()? else { return None };
        let (TokenTree::Group(items), TokenTree::Group(inner)) = (tokens.next()?, tokens.next()?) else {
            return None;
        };
        let is_name = |token: &TokenTree| matches!(token, TokenTree::Ident(_));
        let (names, imports): (Vec<_>, Vec<_>) = inner.stream().into_iter().partition(is_name);
        let names = names.into_iter().filter_map(|token| match token {
            TokenTree::Ident(ident) => Some(ident),
            _ => None,
        });
        let (names, imports) = (names.collect(), payloads(imports.into_iter().collect()));
        Some(ImportedSource { file, name: ast::text(&name), items: items.stream(), names, imports })
    };
    match source(text.value()) {
        Some(source) => Payload::Source(source),
        None => Payload::Refused(text.value()),
    }
}

/// A call of the macro of an imported name. It calls `continuation` with the answers so far, its source, and the rest.
fn call(import: &Use, continuation: TokenStream, done: &TokenStream, rest: &TokenStream) -> TokenStream {
    let path = &import.path;
    quote!(#path! { { #continuation } { #done } { #rest } })
}

/// Splits the tokens of a call-back: the answers, and the rest of the invocation.
pub(crate) fn called_back(tokens: TokenStream) -> Option<(TokenStream, TokenStream)> {
    let mut groups = tokens.into_iter().filter_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(Group::stream(&group)),
        _ => None,
    });
    Some((groups.next()?, groups.next()?))
}

/// Asks rustc whether a predicate holds. rustc's answer calls `continuation` with the answers so far, this one, and the
/// rest.
fn ask(
    predicate: &TokenStream,
    continuation: TokenStream,
    done: &TokenStream,
    rest: &TokenStream,
    is_expression: bool,
) -> TokenStream {
    let name = Ident::new("__paddle_cfg", Span::mixed_site());
    let answer = |answer: TokenStream| {
        quote! {
            #[allow(unused_macros)]
            macro_rules! #name {
                ({ $($callback:tt)* } { $($done:tt)* } { $($rest:tt)* }) => {
                    $($callback)* ! { { $($done)* { #answer } } { $($rest)* } }
                };
            }
        }
    };
    let (no, yes) = (answer(quote!(false)), answer(quote!(true)));
    let arguments = quote!({ #continuation } { #done } { #rest });
    match is_expression {
        true => quote!({ #no #[cfg(#predicate)] #yes #name!(#arguments) }),
        false => quote!(#no #[cfg(#predicate)] #yes #name! { #arguments }),
    }
}

/// Whether the answer is yes.
fn is_yes(answer: &TokenTree) -> bool {
    matches!(answer, TokenTree::Group(group) if group.stream().to_string() == "true")
}
