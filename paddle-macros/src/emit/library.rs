//! The library layers as documented functions for editors, which the ghosts of networks call.

use paddle_core::layers::LIBRARY;
use paddle_language::parameter_names;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

/// The content of `paddle::ghost::library`.
pub(crate) fn functions() -> TokenStream {
    let files = LIBRARY.iter().filter_map(|layer| {
        let file = syn::parse_str::<syn::File>(layer.source).ok()?;
        file.items.into_iter().find_map(|item| match item {
            syn::Item::Fn(function) if function.sig.ident == layer.name => Some(function),
            _ => None,
        })
    });
    let (functions, named): (Vec<_>, Vec<_>) = files.map(|file| layer(&file)).unzip();
    quote! {
        /// Layers that are written in the language itself.
        pub mod library {
            use super::{Value, Var};

            #(#functions)*

            /// The named arguments of the layers.
            pub mod named {
                #(#named)*
            }
        }
    }
}

fn layer(function: &syn::ItemFn) -> (TokenStream, TokenStream) {
    let ident = &function.sig.ident;
    let docs = function.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let (mut positional, mut fields): (Vec<&Ident>, Vec<&Ident>) = (Vec::new(), Vec::new());
    for input in &function.sig.inputs {
        let syn::FnArg::Typed(typed) = input else { continue };
        let syn::Pat::Ident(name) = &*typed.pat else { continue };
        let has_default = typed.attrs.iter().any(|attribute| attribute.path().is_ident("default"));
        if has_default { &mut fields } else { &mut positional }.push(&name.ident);
    }
    let field_docs = fields.iter().map(|field| format!("The argument `{field}`."));
    let about = format!("Of [`{ident}`](super::{ident}).");
    let param = parameter_names::DOCUMENTATION;
    let called = quote! {
        #(#docs)*
        pub fn #ident(#(#positional: impl Value),*) -> Var {
            super::v((#(#positional,)*))
        }
    };
    let named = quote! {
        #[doc = #about]
        pub mod #ident {
            use crate::ghost::{Value, Var, v};

            #(
                #[doc = #field_docs]
                pub fn #fields(value: impl Value) -> Var {
                    v(value)
                }
            )*

            #[doc = #param]
            pub fn param(value: impl Value) -> Var {
                v(value)
            }
        }
    };
    (called, named)
}
