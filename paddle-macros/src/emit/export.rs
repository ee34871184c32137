//! `pub fn`s and `pub const`s for other networks: each becomes a hidden macro of its name that carries its source.

use std::hash::{DefaultHasher, Hash, Hasher};

use paddle_language::ast::{Network, text};
use paddle_language::export::{Exported, export, exported};
use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::quote;

use crate::files::files;

/// The macros of a module. `imported` are the sources of its imports, as they came; `broken` is a module with mistakes,
/// whose networks are exported without source so that importing them is no second mistake.
pub(super) fn exports(network: &Network, imported: &TokenStream, broken: bool) -> TokenStream {
    let imported: Vec<TokenTree> = imported.clone().into_iter().collect();
    let exports = exported(network).into_iter().map(|ident| {
        let carried = if broken { TokenStream::new() } else { carried(network, ident, &imported) };
        hidden(ident, &carried)
    });
    exports.collect()
}

fn hidden(ident: &Ident, carried: &TokenStream) -> TokenStream {
    let name = unique(ident, carried);
    quote! {
        #[doc(hidden)]
        #[macro_export]
        macro_rules! #name {
            ({ $($callback:tt)* } { $($done:tt)* } { $($rest:tt)* }) => {
                $($callback)* ! { { $($done)* { #carried } } { $($rest)* } }
            };
        }
        #[doc(hidden)]
        #[allow(unused_imports)]
        pub use #name as #ident;
    }
}

/// `"src/models.rs" vector { items } { name { source } .. }`, or why there is no source.
fn carried(network: &Network, ident: &Ident, imported: &[TokenTree]) -> TokenStream {
    match export(network, ident) {
        Err(why) => quote!(#why),
        Ok(Exported { file, items, imports }) => {
            let items = if is_open(items.clone()) { closed(items) } else { items };
            let imports = imports.iter().filter_map(|(at, name)| {
                let source = imported.get(*at)?;
                Some(quote!(#name #source))
            });
            quote!(#file #ident { #items } { #(#imports)* })
        }
    }
}

/// Whether there is something to close: tokens that stay as they are need not be taken apart.
fn is_open(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => is_open(group.stream()),
        TokenTree::Ident(ident) => ["crate", "super", "self"].iter().any(|word| ident == word),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// `crate` as other crates have to write it, `$crate`. In `pub(crate)` they cannot: it is left out, since what has come
/// here is visible.
fn closed(tokens: TokenStream) -> TokenStream {
    let mut is_visibility = false;
    let tokens = tokens.into_iter().flat_map(|token| {
        let follows_pub = std::mem::replace(&mut is_visibility, false);
        match token {
            TokenTree::Group(group) if follows_pub && group.delimiter() == Delimiter::Parenthesis => vec![],
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), closed(group.stream()));
                inner.set_span(group.span());
                vec![TokenTree::Group(inner)]
            }
            TokenTree::Ident(ident) if ident == "crate" => {
                vec![Punct::new('$', Spacing::Alone).into(), ident.into()]
            }
            token => {
                is_visibility = matches!(&token, TokenTree::Ident(ident) if ident == "pub");
                vec![token]
            }
        }
    });
    tokens.collect()
}

/// Exported macros are all at the root of their crate, so each needs a name of its own.
fn unique(ident: &Ident, tokens: &TokenStream) -> Ident {
    let mut hasher = DefaultHasher::new();
    // The debug form tells apart what a macro of the user makes several times at one place.
    let (span, at) = (ident.span(), ident.span().start());
    (files().name(span), at.line, at.column, format!("{span:?}"), tokens.to_string()).hash(&mut hasher);
    let name = format!("__paddle_{}_{:016x}", text(ident), hasher.finish());
    Ident::new(&name, Span::call_site())
}
