//! Networks of other modules and crates: `use models::ranking::vector;` inside a network.
//!
//! What they are made of is for those to give who read the source: `export` takes it out of theirs.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;

/// A name that an invocation imports.
#[derive(Clone, Debug)]
pub struct Use {
    /// The path to it, as it was written.
    pub path: TokenStream,
    /// The name here.
    pub name: Ident,
}

impl Use {
    /// The same for rustc.
    pub fn tokens(&self) -> TokenStream {
        let Use { path, name } = self;
        let last = path.clone().into_iter().last();
        match last {
            Some(TokenTree::Ident(last)) if last == *name => quote!(use #path;),
            _ => quote!(use #path as #name;),
        }
    }
}

/// What is known of an imported name.
#[derive(Clone, Debug)]
pub enum Payload {
    Source(ImportedSource),
    /// It cannot be imported, for this reason.
    Refused(String),
    /// The module has mistakes of its own.
    Broken,
}

/// The source of an exported item: everything that it is made of.
#[derive(Clone, Debug)]
pub struct ImportedSource {
    /// The file, as it stands in programs.
    pub file: String,
    /// The item's name there.
    pub name: String,
    /// The items.
    pub items: TokenStream,
    /// The names that they import in turn,
    pub names: Vec<Ident>,
    /// and their sources.
    pub imports: Vec<Payload>,
}
