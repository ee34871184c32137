//! The items that a unit sees: its own, those that it imports, and the library's.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;

use crate::ast::{Function, FunctionId, Keyword, Network, Param, UnitId, text};
use crate::messages::did_you_mean;

/// What a name of an item stands for.
#[derive(Clone, Copy)]
pub(super) enum Item {
    Function(FunctionId),
    /// Imported from a module that has mistakes of its own.
    Broken,
}

/// What a call of a `fn` looks like.
pub(super) struct Signature {
    pub(super) name: String,
    /// The parameters that are given by position; a pattern has no name.
    pub(super) positional: Vec<Argument>,
    /// Those that a call may name.
    pub(super) named: Vec<Argument>,
    /// Whether a call may name its parameters: an operator has none.
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

/// The `fn`s of every unit by the names that they have there.
pub(super) struct Items {
    units: Vec<BTreeMap<String, Item>>,
    library: BTreeMap<String, Item>,
    /// Whether any other name may be one that is imported.
    has_unknown_imports: bool,
    /// Why there are no items of these names.
    configured_out: BTreeMap<String, String>,
}

/// A predicate as it is written.
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
        // What is imported from a unit stands before those that import it.
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

    /// The item of this name that a unit sees, but for the library's.
    pub(super) fn find(&self, unit: UnitId, name: &str) -> Option<Item> {
        self.units[unit.0].get(name).copied()
    }

    /// The layer of the library.
    pub(super) fn in_library(&self, name: &str) -> Option<Item> {
        self.library.get(name).copied()
    }

    /// Whether a name that is nothing else may be imported all the same.
    pub(super) fn may_have_others(&self) -> bool {
        self.has_unknown_imports
    }

    /// Why there is no item of a name, or else which name may be meant.
    ///
    /// `habit` is what the language has instead of what others call so; `otherwise` what to say where nothing is known.
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

    /// The names that a unit sees, but for the library's.
    pub(super) fn names(&self, unit: UnitId) -> impl Iterator<Item = &str> {
        self.units[unit.0].keys().map(String::as_str)
    }
}
