//! Import of networks of other modules and crates: `use models::ranking::vector;` inside a network.
//!
//! The caller provides the source of each import, which [`export`](crate::export) took from the other network.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;

/// A name that an invocation imports.
#[derive(Clone, Debug)]
pub struct Use {
    /// The path to it, as it was written.
    pub path: TokenStream,
    /// The name in this network.
    pub name: Ident,
}

impl Use {
    /// The `use` declaration, for rustc.
    pub fn tokens(&self) -> TokenStream {
        let Use { path, name } = self;
        let last = path.clone().into_iter().last();
        match last {
            Some(TokenTree::Ident(last)) if last == *name => quote!(use #path;),
            _ => quote!(use #path as #name;),
        }
    }
}

/// The result of looking up an imported name.
#[derive(Clone, Debug)]
pub enum Payload {
    Source(ImportedSource),
    /// The name cannot be imported, for this reason.
    Refused(String),
    /// The module has mistakes.
    Broken,
}

/// The source of an exported item, with everything that it depends on.
#[derive(Clone, Debug)]
pub struct ImportedSource {
    /// The name of the file in programs.
    pub file: String,
    /// The item's name in its module.
    pub name: String,
    /// The items of the source.
    pub items: TokenStream,
    /// The names that the source imports in turn.
    pub names: Vec<Ident>,
    /// The sources of these imports, in the same order.
    pub imports: Vec<Payload>,
}
