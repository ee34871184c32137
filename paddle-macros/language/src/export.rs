//! Export: the source of each `pub fn` and `pub const`, for networks elsewhere.
//!
//! An exported source is closed: it has every item that the exported one depends on, and lists its imports.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;

use crate::ast::{Network, Origin, UnitId, text};
use crate::import::{ImportedSource, Payload};

/// The source of an exported item.
pub struct Exported {
    /// The name of the file in programs.
    pub file: String,
    /// The items, as they were written.
    pub items: TokenStream,
    /// The imports that the items use: the index of each import of the network, and its name here.
    pub imports: Vec<(usize, Ident)>,
}

/// The names that other networks may import from this one.
pub fn exported(network: &Network) -> Vec<&Ident> {
    let Some(unit) = here(network) else { return Vec::new() };
    let functions = network.functions.iter().filter(|function| function.unit == unit && function.public);
    let constants = network.constants.iter().filter(|constant| constant.unit == unit && constant.public);
    functions.map(|function| &function.ident).chain(constants.map(|constant| &constant.ident)).collect()
}

/// The exported source of one of the [`exported`] names, or the reason why it cannot be exported.
pub fn export(network: &Network, ident: &Ident) -> Result<Exported, String> {
    let Some(unit) = here(network) else { return Err("it is not written here".into()) };
    Module { network, unit }.export(ident)
}

/// The same as a payload for an import. `imported` are the sources of this network's own imports, in order.
pub fn payload(network: &Network, ident: &Ident, imported: &[Payload]) -> Payload {
    match export(network, ident) {
        Err(why) => Payload::Refused(why),
        Ok(Exported { file, items, imports }) => {
            let (sources, names) =
                imports.into_iter().filter_map(|(at, name)| Some((imported.get(at)?.clone(), name))).unzip();
            Payload::Source(ImportedSource { file, name: text(ident), items, names, imports: sources })
        }
    }
}

fn here(network: &Network) -> Option<UnitId> {
    network.units.iter().position(|unit| unit.origin == Origin::Here).map(UnitId)
}

struct Module<'a> {
    network: &'a Network,
    unit: UnitId,
}

/// An item of the module, as it was written.
struct Item<'a> {
    name: String,
    tokens: &'a TokenStream,
}

impl Module<'_> {
    fn export(&self, ident: &Ident) -> Result<Exported, String> {
        let needed = self.needed(ident);
        if let Some(why) = self.open_size(&needed) {
            return Err(why);
        }
        if let Some(path) = needed.iter().find_map(|item| outside(item.tokens.clone())) {
            // Other modules cannot see the path's target.
            return Err(format!(
                "it reads `{path}`, which other modules do not see; write it from the crate's root, `crate::..`"
            ));
        }
        let mut names = BTreeSet::new();
        needed.iter().for_each(|item| mentioned(item.tokens.clone(), &mut names));
        let items = needed.iter().map(|item| item.tokens);
        let imports = self.network.units[self.unit.0].imports.iter().enumerate();
        let imports = imports.filter(|(_, import)| names.contains(&text(&import.ident)));
        Ok(Exported {
            file: self.network.files.name(ident.span()),
            items: quote!(#(#items)*),
            imports: imports.map(|(at, import)| (at, import.ident.clone())).collect(),
        })
    }

    /// The reason why one of the needed items cannot be exported: it depends on a size that importers have no way to
    /// give.
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

    /// The items that the exported one may depend on: an item whose name occurs in a needed item is needed. The result
    /// may have an item too many, but never one too few.
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
}

/// Collects the identifiers among the tokens.
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

/// Finds a path in the tokens that does not begin at the crate's root.
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
