//! Calls of layers, sub-networks and initialisers.

use paddle_core::layers::{Kind, LIBRARY, Layer};
use paddle_language::ast::{Call, Expr, ExprKind, Meaning, Named, Network, Origin, Param, text};
use proc_macro2::{Delimiter, Ident, Span, TokenStream};
use quote::{ToTokens, quote};

use super::{delimited, expr, helper, language, language_scope, unfinished};

pub(super) fn call(call: &Call, network: &Network) -> TokenStream {
    let arguments = call.positional.iter().enumerate();
    let arguments = arguments.map(|(at, argument)| self::argument(call, at, argument, network));
    let named = call.named.iter().map(|named| self::value(call, named, network));
    // The parenthesis has its place, so that an editor knows which argument the cursor is at.
    let called = |name: TokenStream, arguments: TokenStream| {
        let arguments = delimited(Delimiter::Parenthesis, arguments, call.parens.start);
        quote!(#name #arguments)
    };
    match call.callee {
        Meaning::Layer(layer) if layer.takes(call.positional.len()) => {
            let name = language(layer.name, call.ident.span());
            let known = |name: &str| layer.named(name).is_some();
            let mut arguments: Vec<TokenStream> = arguments.collect();
            // A Rust function takes the operands of such a layer as one argument.
            if layer.has_operands() {
                let left = arguments.split_off(layer.positional.len() - 1);
                arguments.push(helper("v", quote!((#(#left,)*))));
            }
            // A Rust function has no optional arguments, so those that are left out are filled in.
            arguments.resize_with(layer.positional.len(), || helper("v", quote!(())));
            let called = called(name, quote!(#(#arguments),*));
            let called =
                with(called, call, network, language("named", Span::mixed_site()), layer.name, &known);
            open(called, call)
        }
        Meaning::Function(id) => {
            let (ident, function) = (&call.ident, &network.functions[id.0]);
            match network.units[function.unit.0].origin {
                Origin::Here => {
                    let arguments = arguments.map(|argument| helper("bound", argument));
                    let called = called(ident.to_token_stream(), quote!(#(#arguments),*));
                    named.fold(called, |called, value| helper("named_by", quote!(#called, #value)))
                }
                Origin::Imported { .. } => quote!(#ident((#(#arguments,)* #(#named,)*))),
                Origin::Library => {
                    let library = language("library", Span::mixed_site());
                    let named = |param: &Param| param.name();
                    let names: Vec<String> =
                        function.named().filter_map(named).chain(["param".into()]).collect();
                    let known = |name: &str| names.iter().any(|known| known == name);
                    let called = called(quote!(#library::#ident), quote!(#(#arguments),*));
                    let layer = text(&function.ident);
                    let called = with(called, call, network, quote!(#library::named), &layer, &known);
                    open(called, call)
                }
            }
        }
        Meaning::Variable(_) => {
            let ident = &call.ident;
            let arguments = arguments.map(|argument| helper("bound", argument));
            let called = called(ident.to_token_stream(), quote!(#(#arguments),*));
            // The only named argument of a closure is `param`.
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
        Meaning::Unresolved => {
            let callee = unfinished(&call.ident, &[]);
            let Some(names) = names(call) else {
                return helper("v", quote!((#callee, #(#arguments,)* #(#named,)*)));
            };
            // The call has the wrong number of arguments; the user may be typing more of them.
            let arguments = call.positional.iter().map(|argument| expr(argument, network));
            let given = helper("v", quote!((#(#arguments,)* #(#named,)* #callee)));
            quote!({ #names #given })
        }
        _ => helper("v", quote!((#(#arguments,)* #(#named,)*))),
    }
}

/// A call whose last argument has a comma behind it. Editors offer the named arguments there.
fn open(called: TokenStream, call: &Call) -> TokenStream {
    match names(call).filter(|_| call.open) {
        Some(names) => {
            // This name has to be longer than what stands before other arguments, see `emit::item`.
            let value = Ident::new("called_with_these", Span::mixed_site());
            quote!({ #[cfg(rust_analyzer)] #names let #value = #called; #value })
        }
        None => called,
    }
}

/// Brings the named arguments of a layer into scope.
fn names(call: &Call) -> Option<TokenStream> {
    let (scope, named) = (language_scope(), named_arguments(&text(&call.ident))?);
    Some(quote!(use #scope::{#named::*};))
}

/// The module of a layer's named arguments.
fn named_arguments(layer: &str) -> Option<TokenStream> {
    let module = match Layer::find(layer) {
        Some(layer) if layer.named.is_empty() => return None,
        Some(_) => quote!(named),
        None if LIBRARY.iter().any(|known| known.name == layer) => quote!(library::named),
        None => return None,
    };
    let layer = Ident::new(layer, Span::mixed_site());
    Some(quote!(#module::#layer))
}

/// A positional argument. A name without meaning may become a named argument.
fn argument(call: &Call, at: usize, argument: &Expr, network: &Network) -> TokenStream {
    match &argument.kind {
        ExprKind::Name { ident, meaning: Meaning::Unresolved } => {
            let name = text(&call.ident);
            let modules = match Layer::find(&name) {
                Some(layer) if layer.positional.get(at).is_some_and(|known| takes_words(known.kind)) => {
                    words(layer.name, layer.positional[at].name)
                }
                _ => named_arguments(&name).into_iter().collect(),
            };
            unfinished(ident, &modules)
        }
        _ => expr(argument, network),
    }
}

fn takes_words(kind: Kind) -> bool {
    matches!(kind, Kind::Choice(_) | Kind::IntsOr(_))
}

/// The modules of the words that an argument of a layer takes.
fn words(layer: &str, argument: &str) -> Vec<TokenStream> {
    let [layer, argument] = [layer, argument].map(|name| Ident::new(name, Span::mixed_site()));
    vec![quote!(choice::#layer::#argument)]
}

/// The value of a named argument. Some arguments take words.
fn value(call: &Call, named: &Named, network: &Network) -> TokenStream {
    match &named.value.kind {
        ExprKind::Name { ident, meaning: Meaning::Unresolved } => {
            let layer = Layer::find(&text(&call.ident));
            let argument = layer.and_then(|layer| Some((layer.name, layer.named(&text(&named.ident))?)));
            let modules = match argument {
                Some((layer, argument)) if takes_words(argument.kind) => words(layer, argument.name),
                Some((_, argument)) if argument.kind == Kind::Initializer => vec![quote!(initializer)],
                _ => Vec::new(),
            };
            unfinished(ident, &modules)
        }
        _ => expr(&named.value, network),
    }
}

/// A call of a layer with its named arguments, each of which is a documented function of the module `named`. (A struct
/// would read better, but rustc would check a dozen moves for every call.)
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
        let (name, value) = (&given.ident, self::value(call, given, network));
        quote!(#named::#layer::#name(#value))
    });
    let given: Vec<TokenStream> = given.collect();
    if given.is_empty() {
        return called;
    }
    helper("with", quote!(#called, [#(#given),*]))
}
