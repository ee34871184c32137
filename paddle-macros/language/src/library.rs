//! The library: layers written in the language itself, in files of `paddle_core::layers::library`. They are parsed when
//! a network calls them.

use std::collections::BTreeSet;

use paddle_core::layers::LIBRARY;
use proc_macro2::{TokenStream, TokenTree};

/// The names of library layers that occur among these tokens.
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

/// The source of the file that defines a layer.
pub(crate) fn source(name: &str) -> Option<&'static str> {
    LIBRARY.iter().find(|layer| layer.name == name).map(|layer| layer.source)
}
