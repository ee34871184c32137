//! Export: each `pub fn` and `pub const` becomes a hidden macro of the same name that carries its source.

use std::hash::{DefaultHasher, Hash, Hasher};

use paddle_language::ast::{Network, text};
use paddle_language::export::{Exported, export, exported};
use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::quote;

use crate::files::files;

/// The macros of a module. `imported` are the payloads of its imports, as tokens. If the module is `broken`, because it
/// has mistakes, the macros carry no source, so that importing from it is not a second mistake.
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

/// `"src/models.rs" vector { items } { name { source } .. }`, or the reason why the item cannot be imported.
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

/// Whether [`closed`] would change the tokens. Tokens that need no change keep their places.
fn is_open(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => is_open(group.stream()),
        TokenTree::Ident(ident) => ["crate", "super", "self"].iter().any(|word| ident == word),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// Replaces `crate` by `$crate`, so that the tokens mean the same in other crates. `$crate` is not allowed in
/// `pub(crate)`, which is left out: exported items are visible anyway.
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

/// A unique name: all exported macros are at the root of their crate.
fn unique(ident: &Ident, tokens: &TokenStream) -> Ident {
    let mut hasher = DefaultHasher::new();
    // The debug form of the span tells apart items that a user's macro generates at one place.
    let (span, at) = (ident.span(), ident.span().start());
    (files().name(span), at.line, at.column, format!("{span:?}"), tokens.to_string()).hash(&mut hasher);
    let name = format!("__paddle_{}_{:016x}", text(ident), hasher.finish());
    Ident::new(&name, Span::call_site())
}
