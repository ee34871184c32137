//! The items that a unit sees: its own, its imports, and the library.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;

use crate::ast::{Function, FunctionId, Keyword, Network, Param, UnitId, text};
use crate::messages::did_you_mean;

/// The meaning of an item's name.
#[derive(Clone, Copy)]
pub(super) enum Item {
    Function(FunctionId),
    /// Imported from a module with mistakes.
    Broken,
}

/// The signature of a `fn`.
pub(super) struct Signature {
    pub(super) name: String,
    /// The positional parameters. A parameter that is a pattern has no name.
    pub(super) positional: Vec<Argument>,
    /// The named parameters.
    pub(super) named: Vec<Argument>,
    /// Whether a call may have `param`. Operators have no parameters.
    pub(super) has_parameters: bool,
}

/// A parameter.
pub(super) struct Argument {
    pub(super) name: Option<String>,
    pub(super) keyword: Option<Keyword>,
}

impl Signature {
    pub(super) fn of(function: &Function) -> Self {
        let argument = |param: &Param| Argument { name: param.name(), keyword: param.keyword() };
        Signature {
            name: text(&function.ident),
            positional: function.positional().map(argument).collect(),
            named: function.named().map(argument).collect(),
            has_parameters: function.operator.is_none(),
        }
    }
}

/// The `fn`s of every unit, by their names in it.
pub(super) struct Items {
    units: Vec<BTreeMap<String, Item>>,
    library: BTreeMap<String, Item>,
    /// Whether an unknown name may come from an import that could not be read.
    has_unknown_imports: bool,
    /// The names of items that are configured out, with the reason.
    configured_out: BTreeMap<String, String>,
}

/// The text of a predicate.
fn predicate(tokens: &TokenStream) -> String {
    tokens.to_string().replace(" (", "(")
}

impl Items {
    pub(super) fn of(network: &Network) -> Self {
        let has_unknown_imports = network.has_unknown_imports;
        let out = network.configured_out.iter();
        let out = out.map(|out| {
            (
                text(&out.ident),
                format!("; it is configured out: `cfg({})` does not hold", predicate(&out.predicate)),
            )
        });
        let configured_out = out.collect();
        let mut items =
            Items { units: Vec::new(), library: BTreeMap::new(), has_unknown_imports, configured_out };
        items.units.resize_with(network.units.len(), BTreeMap::new);
        for (at, function) in network.functions.iter().enumerate() {
            let item = Item::Function(FunctionId(at));
            items.units[function.unit.0].insert(text(&function.ident), item);
            if function.public && network.is_library(function.unit) {
                items.library.insert(text(&function.ident), item);
            }
        }
        // A unit follows the units that it imports from.
        for (at, unit) in network.units.iter().enumerate() {
            for import in &unit.imports {
                let item = match &import.item {
                    Some((from, name)) => items.units[from.0].get(name).copied(),
                    None => Some(Item::Broken),
                };
                if let Some(item) = item {
                    items.units[at].insert(text(&import.ident), item);
                }
            }
        }
        items
    }

    /// The item of this name that a unit sees, without the library.
    pub(super) fn find(&self, unit: UnitId, name: &str) -> Option<Item> {
        self.units[unit.0].get(name).copied()
    }

    /// The library layer of this name.
    pub(super) fn in_library(&self, name: &str) -> Option<Item> {
        self.library.get(name).copied()
    }

    /// Whether an unknown name may be an import.
    pub(super) fn may_have_others(&self) -> bool {
        self.has_unknown_imports
    }

    /// The hint for an unknown name: why there is no such item, or a similar name.
    ///
    /// `habit` is the hint for what others call so, and `otherwise` the hint if nothing else is known.
    pub(super) fn hint<'c>(
        &self,
        name: &str,
        known: impl IntoIterator<Item = &'c str>,
        habit: Option<&str>,
        otherwise: &str,
    ) -> String {
        let out = self.configured_out.get(name).cloned();
        let hint = out.or_else(|| habit.map(|instead| format!("; {instead}")));
        let hint = hint.unwrap_or_else(|| did_you_mean(name, known));
        if hint.is_empty() { otherwise.to_string() } else { hint }
    }

    /// The names that a unit sees, without the library.
    pub(super) fn names(&self, unit: UnitId) -> impl Iterator<Item = &str> {
        self.units[unit.0].keys().map(String::as_str)
    }
}
