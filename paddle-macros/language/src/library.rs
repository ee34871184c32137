//! The layers that are written in the language itself: files of `paddle_core::layers::library`, parsed when they are
//! called.

use std::collections::BTreeSet;

use paddle_core::layers::LIBRARY;
use proc_macro2::{TokenStream, TokenTree};

/// The names of layers of the library among these tokens.
pub(crate) fn named(tokens: &TokenStream) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    collect(tokens.clone(), &mut found);
    found
}

fn collect(tokens: TokenStream, found: &mut BTreeSet<&'static str>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Ident(ident) => {
                let ident = ident.to_string();
                found.extend(LIBRARY.iter().map(|layer| layer.name).filter(|name| ident == *name));
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// The source of the file that a layer is in.
pub(crate) fn source(name: &str) -> Option<&'static str> {
    LIBRARY.iter().find(|layer| layer.name == name).map(|layer| layer.source)
}
