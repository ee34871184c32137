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
            let known = |name: &str| layer.named(name).is_some();
            let called = quote!(#name(#(#arguments),*));
            with(called, call, network, language("named", Span::mixed_site()), layer.name, &known)
        }
        Meaning::Function(id) => {
            let (ident, function) = (&call.ident, &network.functions[id.0]);
            match network.units[function.unit.0].origin {
                Origin::Here => {
                    let arguments = arguments.map(|argument| helper("unpacked", argument));
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
                    let called = quote!(#library::#ident(#(#arguments),*));
                    with(called, call, network, quote!(#library::named), &text(&function.ident), &known)
                }
            }
        }
        Meaning::Variable(_) => {
            let ident = &call.ident;
            let arguments = arguments.map(|argument| helper("unpacked", argument));
            let called = quote!(#ident(#(#arguments),*));
            // The only named argument of a closure is the name of its parameters.
            named.fold(called, |called, name| helper("named_by", quote!(#called, #name)))
        }
        Meaning::Activation(_) => {
            let ident = &call.ident;
            helper("v", quote!((#ident, #(#arguments,)* #(#named,)*)))
        }
        Meaning::Initializer(initializer) if call.positional.len() == initializer.arguments.len() => {
            let module = language("initializer", Span::mixed_site());
            let name = Ident::new(initializer.name, call.ident.span());
            quote!(#module::#name(#(#arguments),*))
        }
        _ => helper("v", quote!((#(#arguments,)* #(#named,)*))),
    }
}

/// A call of a layer with its named arguments, each a documented function of the module `named`. (A struct of them reads
/// better, but rustc then checks a dozen moves for every call.)
fn with(
    called: TokenStream,
    call: &Call,
    network: &Network,
    named: TokenStream,
    layer: &str,
    known: &dyn Fn(&str) -> bool,
) -> TokenStream {
    let layer = Ident::new(layer, Span::mixed_site());
    let given = call.named.iter().filter(|given| known(&text(&given.ident))).map(|given| {
        let (name, value) = (&given.ident, expr(&given.value, network));
        quote!(#named::#layer::#name(#value))
    });
    let given: Vec<TokenStream> = given.collect();
    if given.is_empty() {
        return called;
    }
    helper("with", quote!(#called, [#(#given),*]))
}
