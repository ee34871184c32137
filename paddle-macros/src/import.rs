//! Networks of other modules and crates: `use models::ranking::vector;` inside a network.
//!
//! A `pub fn` or `pub const` of a module is exported as a macro of its name that carries its source (`emit::export`).
//! An invocation that imports expands to a call of that macro, which calls `network!` again with the source and the
//! rest of the invocation; so any order of modules and crates will do.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::quote;

/// A name that an invocation imports.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    /// The path to it, as it was written.
    pub(crate) path: TokenStream,
    /// The name here.
    pub(crate) name: Ident,
}

impl Use {
    /// The same for rustc.
    pub(crate) fn tokens(&self) -> TokenStream {
        let Use { path, name } = self;
        let last = path.clone().into_iter().last();
        match last {
            Some(TokenTree::Ident(last)) if last == *name => quote!(use #path;),
            _ => quote!(use #path as #name;),
        }
    }
}

/// What the macro of an imported name carries.
pub(crate) enum Payload {
    Source(ImportedSource),
    /// It cannot be imported, for this reason.
    Refused(String),
    /// The module has mistakes of its own.
    Broken,
}

/// The source of an exported item: everything that it is made of.
pub(crate) struct ImportedSource {
    /// The file, as it stands in programs.
    pub(crate) file: String,
    /// The item's name there.
    pub(crate) name: String,
    /// The items.
    pub(crate) items: TokenStream,
    /// The names that they import in turn,
    pub(crate) names: Vec<Ident>,
    /// and their sources.
    pub(crate) imports: Vec<Payload>,
}

/// Reads `{ "src/models.rs" vector { items } { name { payload } .. } }` for each import; `{ "why" }` for one that is
/// refused, `{}` for one that is broken.
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
        Some(ImportedSource { file, name: crate::ast::text(&name), items: items.stream(), names, imports })
    };
    match source(text.value()) {
        Some(source) => Payload::Source(source),
        None => Payload::Refused(text.value()),
    }
}

/// A call of the macro of an imported name, which calls `continuation` with the sources so far, its own, and the rest.
pub(crate) fn call(
    import: &Use,
    continuation: TokenStream,
    done: &TokenStream,
    rest: &TokenStream,
) -> TokenStream {
    let path = &import.path;
    quote!(#path! { { #continuation } { #done } { #rest } })
}

/// What an imported name's macro calls back with: the sources, and the rest of the invocation.
pub(crate) fn called_back(tokens: TokenStream) -> Option<(TokenStream, TokenStream)> {
    let mut groups = tokens.into_iter().filter_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(Group::stream(&group)),
        _ => None,
    });
    Some((groups.next()?, groups.next()?))
}
