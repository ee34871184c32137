//! The layers of the library as documented functions, for editors: what the ghost of a model calls.

use paddle_core::layers::LIBRARY;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::names;

/// `pub mod library`, of the crate's module `language`.
pub(crate) fn functions() -> TokenStream {
    let files = LIBRARY.iter().filter_map(|layer| {
        let file = syn::parse_str::<syn::File>(layer.source).ok()?;
        file.items.into_iter().find_map(|item| match item {
            syn::Item::Fn(function) if function.sig.ident == layer.name => Some(function),
            _ => None,
        })
    });
    let (functions, structs): (Vec<_>, Vec<_>) = files.map(|file| layer(&file)).unzip();
    quote! {
        /// Layers that are written in the language itself.
        pub mod library {
            use super::Var;

            #(#functions)*

            /// The named arguments of the layers.
            pub mod named {
                use super::Var;

                #(#structs)*
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
    let about = format!("The named arguments of [`{ident}`](super::{ident}).");
    let param = names::DOCUMENTATION;
    let called = quote! {
        #(#docs)*
        pub fn #ident(#(#positional: Var,)* _: named::#ident) -> Var {
            super::v((#(#positional,)*))
        }
    };
    let named = quote! {
        #[doc = #about]
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug)]
        pub struct #ident {
            #(#[doc = #field_docs] pub #fields: Var,)*
            #[doc = #param]
            pub param: Var,
        }

        impl Default for #ident {
            fn default() -> Self {
                let none = crate::language::v(());
                #ident { #(#fields: none,)* param: none }
            }
        }
    };
    (called, named)
}
