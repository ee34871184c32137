//! Calls of layers, sub-networks and initialisers.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use super::{expr, helper, language};
use crate::ast::{Call, Meaning, Network, Origin, Param, text};

pub(super) fn call(call: &Call, network: &Network) -> TokenStream {
    let arguments = call.positional.iter().map(|argument| expr(argument, network));
    let named = call.named.iter().map(|named| expr(&named.value, network));
    match call.callee {
        Meaning::Layer(layer) if call.positional.len() == layer.positional.len() => {
            let name = language(layer.name, call.ident.span());
            if layer.named.is_empty() {
                return quote!(#name(#(#arguments),*));
            }
            let known = |name: &str| layer.named(name).is_some();
            let named = self::named(call, network, language("named", Span::mixed_site()), layer.name, &known);
            quote!(#name(#(#arguments,)* #named))
        }
        Meaning::Function(id) => {
            let (ident, function) = (&call.ident, &network.functions[id.0]);
            match network.units[function.unit.0].origin {
                Origin::Here => {
                    let arguments = arguments.map(|argument| helper("any", argument));
                    let called = quote!(#ident(#(#arguments),*));
                    named.fold(called, |called, value| helper("named_by", quote!(#called, #value)))
                }
                Origin::Imported { .. } => quote!(#ident((#(#arguments,)* #(#named,)*))),
                Origin::Library => {
                    let library = language("library", Span::mixed_site());
                    let named = |param: &Param| param.name();
                    let names: Vec<String> =
                        function.named().filter_map(named).chain(["param".into()]).collect();
                    let known = |name: &str| names.iter().any(|known| known == name);
                    let structs = quote!(#library::named);
                    let named = self::named(call, network, structs, &text(&function.ident), &known);
                    quote!(#library::#ident(#(#arguments,)* #named))
                }
            }
        }
        Meaning::Variable(_) => {
            let ident = &call.ident;
            let arguments = arguments.map(|argument| helper("any", argument));
            let called = quote!(#ident(#(#arguments),*));
            // The only named argument of a closure is the name of its parameters.
            named.fold(called, |called, name| helper("named_by", quote!(#called, #name)))
        }
        Meaning::Initializer(initializer) if call.positional.len() == initializer.arguments.len() => {
            let module = language("initializer", Span::mixed_site());
            let name = Ident::new(initializer.name, call.ident.span());
            quote!(#module::#name(#(#arguments),*))
        }
        _ => helper("v", quote!((#(#arguments,)* #(#named,)*))),
    }
}

/// The named arguments of a layer, as a struct with documented fields.
fn named(
    call: &Call,
    network: &Network,
    structs: TokenStream,
    layer: &str,
    known: &dyn Fn(&str) -> bool,
) -> TokenStream {
    let fields = call.named.iter().filter(|named| known(&text(&named.ident))).map(|named| {
        let (field, value) = (&named.ident, expr(&named.value, network));
        quote!(#field: #value)
    });
    let (name, rest) = (Ident::new(layer, Span::mixed_site()), language("rest", Span::mixed_site()));
    quote!(#structs::#name { #(#fields,)* ..#rest() })
}
