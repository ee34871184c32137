//! `pub fn`s and `pub const`s for other networks: each becomes a hidden macro of its name that carries its source.
//!
//! The source is closed: it has every item that the exported one is made of, and the sources of what it imports.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::quote;

use crate::ast::{Network, Origin, UnitId, text};
use crate::place;

/// The macros of a module. `imported` are the sources of its imports, as they came; `broken` is a module with mistakes,
/// whose networks are exported without source so that importing them is no second mistake.
pub(super) fn exports(network: &Network, imported: &TokenStream, broken: bool) -> TokenStream {
    let Some(here) = network.units.iter().position(|unit| unit.origin == Origin::Here) else {
        return TokenStream::new();
    };
    let unit = UnitId(here);
    let module = Module { network, unit, imported: imported.clone().into_iter().collect() };
    let functions = network.functions.iter().filter(|function| function.unit == unit && function.public);
    let constants = network.constants.iter().filter(|constant| constant.unit == unit && constant.public);
    let idents = functions.map(|function| &function.ident).chain(constants.map(|constant| &constant.ident));
    idents.map(|ident| module.export(ident, broken)).collect()
}

/// What the macro of an exported name carries.
#[cfg(test)]
pub(crate) fn source(network: &Network, imported: &TokenStream, name: &str, broken: bool) -> TokenStream {
    if broken {
        return quote!({});
    }
    let here = network.units.iter().position(|unit| unit.origin == Origin::Here).unwrap();
    let imported = imported.clone().into_iter().collect();
    let carried =
        Module { network, unit: UnitId(here), imported }.carried(&Ident::new(name, Span::call_site()));
    quote!({ #carried })
}

struct Module<'a> {
    network: &'a Network,
    unit: UnitId,
    /// The source of each import, in order.
    imported: Vec<TokenTree>,
}

/// An item of the module, as it was written.
struct Item<'a> {
    name: String,
    tokens: &'a TokenStream,
}

impl Module<'_> {
    fn export(&self, ident: &Ident, broken: bool) -> TokenStream {
        let carried = if broken { TokenStream::new() } else { self.carried(ident) };
        let name = unique(ident, &carried);
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

    /// The source, or why there is none.
    fn carried(&self, ident: &Ident) -> TokenStream {
        let needed = self.needed(ident);
        let why = self.open_size(&needed).or_else(|| {
            let path = needed.iter().find_map(|item| outside(item.tokens.clone()))?;
            // What the path leads to cannot be seen from other modules.
            Some(format!("it reads `{path}`, which other modules do not see; write it from the crate's root, `crate::..`"))
        });
        match why {
            Some(why) => quote!(#why),
            None => self.source(ident, &needed),
        }
    }

    /// A size that whoever imports has no way to give.
    fn open_size(&self, needed: &[Item<'_>]) -> Option<String> {
        let is_needed = |ident: &Ident| needed.iter().any(|item| item.name == text(ident));
        let functions = self.network.functions.iter().filter(|function| function.unit == self.unit);
        let mut generic =
            functions.filter(|function| is_needed(&function.ident) && !function.generics.is_empty());
        if let Some(function) = generic.next() {
            let name = text(&function.ident);
            return Some(format!(
                "`{name}` has a `const` parameter; take the size as an argument, `size: usize`"
            ));
        }
        let mut constants = self.network.constants.iter().filter(|constant| constant.unit == self.unit);
        let open = constants.find(|constant| constant.by_caller && is_needed(&constant.ident))?;
        let name = text(&open.ident);
        Some(format!(
            "it reads `{name}`, a size that is given at run time; take the size as an argument, `size: usize`"
        ))
    }

    /// Every item of the module that the exported one may be made of: each whose name stands in one that is needed. That
    /// may be one too many, never one too few.
    fn needed(&self, ident: &Ident) -> Vec<Item<'_>> {
        let network = self.network;
        let functions = network.functions.iter().filter(|function| function.unit == self.unit);
        let constants = network.constants.iter().filter(|constant| constant.unit == self.unit);
        let items: Vec<Item<'_>> = functions
            .map(|function| Item { name: text(&function.ident), tokens: &function.tokens })
            .chain(constants.map(|constant| Item { name: text(&constant.ident), tokens: &constant.tokens }))
            .collect();
        let mut names = BTreeSet::from([text(ident)]);
        let mut fresh: Vec<String> = names.iter().cloned().collect();
        while let Some(name) = fresh.pop() {
            for item in items.iter().filter(|item| item.name == name) {
                let mut mentions = BTreeSet::new();
                mentioned(item.tokens.clone(), &mut mentions);
                fresh.extend(mentions.into_iter().filter(|name| names.insert(name.clone())));
            }
        }
        items.into_iter().filter(|item| names.contains(&item.name)).collect()
    }

    /// `"src/models.rs" vector { items } { name { source } .. }`.
    fn source(&self, ident: &Ident, needed: &[Item<'_>]) -> TokenStream {
        let items = needed.iter().map(|item| closed(item.tokens.clone()));
        let mut names = BTreeSet::new();
        needed.iter().for_each(|item| mentioned(item.tokens.clone(), &mut names));
        let imports = self.network.units[self.unit.0].imports.iter().zip(&self.imported);
        let imports = imports.filter(|(import, _)| names.contains(&text(&import.ident)));
        let imports = imports.map(|(import, source)| {
            let name = &import.ident;
            quote!(#name #source)
        });
        let file = place::file(ident.span());
        quote!(#file #ident { #(#items)* } { #(#imports)* })
    }
}

/// The names among these tokens.
fn mentioned(tokens: TokenStream, names: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => mentioned(group.stream(), names),
            TokenTree::Ident(ident) => {
                names.insert(text(&ident));
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
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

/// A path that does not begin at the crate's root.
fn outside(tokens: TokenStream) -> Option<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_colons = |at: usize| {
        let colon =
            |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == ':');
        colon(tokens.get(at)) && colon(tokens.get(at + 1))
    };
    tokens.iter().enumerate().find_map(|(at, token)| match token {
        TokenTree::Group(group) => outside(group.stream()),
        TokenTree::Ident(first) if is_colons(at + 1) => {
            let begins = at < 2 || !is_colons(at - 2);
            let Some(TokenTree::Ident(second)) = tokens.get(at + 3) else { return None };
            (begins && first != "crate").then(|| format!("{first}::{second}"))
        }
        _ => None,
    })
}

/// Exported macros are all at the root of their crate, so each needs a name of its own.
fn unique(ident: &Ident, tokens: &TokenStream) -> Ident {
    let mut hasher = DefaultHasher::new();
    // The debug form tells apart what a macro of the user makes several times at one place.
    let (span, at) = (ident.span(), ident.span().start());
    (place::file(span), at.line, at.column, format!("{span:?}"), tokens.to_string()).hash(&mut hasher);
    let name = format!("__paddle_{}_{:016x}", text(ident), hasher.finish());
    Ident::new(&name, Span::call_site())
}
