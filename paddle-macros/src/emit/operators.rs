//! The user's own operators: their types, and the lists by which networks find them.
//!
//! Every name that networks import also has a constant `OPERATORS` in Rust: it belongs to the type of an operator, or
//! to the module of a network. So an import of `models::vector` finds `models::vector::OPERATORS`, whatever the path.

use paddle_core::ops::Custom;
use paddle_language::ast::{Function, Import, Network, UnitId, text};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;

/// The user's operators that a module, or a network in the expression form, may use.
pub(super) struct Operators<'a> {
    network: &'a Network,
    /// The operators that it declares; `None` for one with mistakes.
    own: &'a [(usize, Option<Custom>)],
    /// The imports that may bring other operators.
    imports: Vec<&'a Import>,
    /// Whether there are mistakes. Then the list is empty, so that missing kernels are not reported too.
    broken: bool,
}

impl<'a> Operators<'a> {
    pub(super) fn of(network: &'a Network, own: &'a [(usize, Option<Custom>)], broken: bool) -> Self {
        let uses =
            |import: &&Import| import.item.as_ref().is_some_and(|(unit, _)| has_operators(network, *unit));
        Operators { network, own, imports: network.imports().filter(uses).collect(), broken }
    }

    fn is_empty(&self) -> bool {
        self.own.is_empty() && self.imports.is_empty()
    }

    fn table() -> Ident {
        Ident::new("__PADDLE_OPERATORS", Span::mixed_site())
    }

    /// The list as an expression; `None` if there are no operators.
    pub(super) fn value(&self) -> Option<TokenStream> {
        if self.is_empty() {
            return None;
        }
        if self.broken {
            return Some(quote!(::paddle::operator::Operators::NONE));
        }
        let own = self.own.iter().map(|(at, _)| &self.network.functions[*at].ident);
        let uses = self.imports.iter().map(|import| &import.tokens);
        let names = self.imports.iter().map(|import| &import.ident);
        Some(quote! {{
            #(#uses)*
            ::paddle::operator::Operators { own: &[#(&#own),*], imported: &[#(#names::OPERATORS),*] }
        }})
    }

    /// The list as an expression for a module within the one that has [`Operators::items`].
    pub(super) fn inside(&self) -> Option<TokenStream> {
        let table = Operators::table();
        (!self.is_empty()).then(|| quote!(super::#table))
    }

    /// The constant in the module of a network, for networks that import it.
    pub(super) fn of_export(&self) -> Option<TokenStream> {
        let value = self.inside()?;
        Some(quote! {
            #[doc(hidden)]
            pub const OPERATORS: ::paddle::operator::Operators = #value;
        })
    }

    /// The items of a module: its list, the types of its operators, and a module for each layer that others may import.
    pub(super) fn items(&self) -> Option<TokenStream> {
        let (table, value) = (Operators::table(), self.value()?);
        let types =
            self.own.iter().map(|(at, custom)| declared(&self.network.functions[*at], custom.as_ref()));
        let here = self.network.functions.iter().filter(|function| self.network.is_here(function.unit));
        let layers =
            here.filter(|function| function.public && function.operator.is_none() && !function.is_topology());
        let layers = layers.map(|layer| {
            let (ident, constant) = (&layer.ident, self.of_export());
            quote! {
                #[doc(hidden)]
                #[allow(dead_code)]
                pub mod #ident { #constant }
            }
        });
        Some(quote! {
            #[doc(hidden)]
            #[allow(dead_code, unused_imports)]
            const #table: ::paddle::operator::Operators = #value;
            #(#types)*
            #(#layers)*
        })
    }
}

/// Whether a unit, or one that it imports from, declares operators.
fn has_operators(network: &Network, unit: UnitId) -> bool {
    let declares =
        network.functions.iter().any(|function| function.unit == unit && function.operator.is_some());
    let mut imports = network.units[unit.0].imports.iter().filter_map(|import| import.item.as_ref());
    declares || imports.any(|(unit, _)| has_operators(network, *unit))
}

/// The type of an operator.
fn declared(function: &Function, custom: Option<&Custom>) -> TokenStream {
    let Function { ident, attributes, visibility, .. } = function;
    let doc = match custom {
        Some(custom) => format!("The operator `{}`: `{}`.", text(ident), custom.signature()),
        None => format!("The operator `{}`.", text(ident)),
    };
    let (name, row_wise, arguments, definition) = match custom {
        Some(custom) => (
            custom.name.clone(),
            custom.row_wise,
            custom.arguments.to_string(),
            custom.definition.program().to_string(),
        ),
        None => Default::default(),
    };
    let [name, arguments, definition] = [name, arguments, definition].map(|text| Literal::string(&text));
    let table = Operators::table();
    quote! {
        #attributes
        #[doc = ""]
        #[doc = #doc]
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug)]
        #visibility struct #ident;

        impl #ident {
            #[doc(hidden)]
            pub const OPERATORS: ::paddle::operator::Operators = #table;
        }

        impl ::paddle::operator::Declared for #ident {
            fn declaration(&self) -> ::paddle::operator::Declaration {
                ::paddle::operator::Declaration {
                    name: #name,
                    row_wise: #row_wise,
                    arguments: #arguments,
                    definition: #definition,
                }
            }

            fn operators(&self) -> ::paddle::operator::Operators {
                #ident::OPERATORS
            }
        }
    }
}
