//! The types of variables as editors show them.

use std::collections::BTreeSet;

use paddle_language::ast::{BindingId, Network, Shown, ShownDim};
use paddle_language::parameter_names::identifier;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};

use super::{language, var};

/// The highest rank of the types in `paddle::ghost::tensor`.
const MOST_DIMS: usize = 5;

/// A module with each type once, so that the numbers in a type are checked once and not at every variable.
pub(super) fn types(network: &Network) -> Option<TokenStream> {
    let mut names = BTreeSet::new();
    network.shown.iter().for_each(|shown| collect_names(shown, &mut names));
    let names = names.into_iter().map(marker);
    let types = network.shown.iter().enumerate().map(|(at, shown)| {
        let (alias, ty) = (alias(at), ty(shown));
        quote!(pub type #alias = #ty;)
    });
    (!network.shown.is_empty()).then(|| {
        quote! {
            #[allow(dead_code, non_camel_case_types, unreachable_pub, clippy::all)]
            mod shown {
                #(pub enum #names {})*
                #(#types)*
            }
        }
    })
}

/// The type of a variable.
pub(super) fn of(binding: Option<BindingId>, network: &Network) -> Option<TokenStream> {
    let alias = alias(network.bindings.get(binding?.0)?.shown?);
    Some(quote!(shown::#alias))
}

fn alias(at: usize) -> Ident {
    format_ident!("Type{at}", span = Span::mixed_site())
}

fn collect_names<'n>(shown: &'n Shown, names: &mut BTreeSet<&'n str>) {
    match shown {
        Shown::Value | Shown::Number(_) => {}
        Shown::Tensor { dims, .. } => names.extend(dims.iter().filter_map(|dim| match dim {
            ShownDim::Name(name) if name != "_" => Some(&**name),
            ShownDim::Name(_) | ShownDim::Size(_) | ShownDim::Any => None,
        })),
        Shown::Sequence(items) => collect_names(items, names),
        Shown::Tuple(parts) => parts.iter().for_each(|part| collect_names(part, names)),
    }
}

/// The marker type for the name of a size, which may be computed, as `2 * T` is.
fn marker(name: &str) -> Ident {
    let word = name.replace(|c: char| !c.is_alphanumeric(), "_");
    match word.starts_with(|c: char| c.is_ascii_digit()) {
        true => identifier(&format!("_{word}")),
        false => identifier(&word),
    }
}

fn ty(shown: &Shown) -> TokenStream {
    match shown {
        Shown::Number(dtype) => {
            let dtype = Ident::new(dtype.name(), Span::mixed_site());
            quote!(::core::primitive::#dtype)
        }
        Shown::Tensor { dtype, dims } if dims.len() <= MOST_DIMS => {
            let element = ty(&Shown::Number(*dtype));
            let modules = dims.iter().map(|dim| match dim {
                ShownDim::Size(_) => quote!(number::),
                ShownDim::Name(_) | ShownDim::Any => quote!(name::),
            });
            let dims = dims.iter().map(|dim| match dim {
                ShownDim::Size(size) => {
                    let size = Literal::usize_unsuffixed(*size);
                    quote!(#size)
                }
                ShownDim::Name(name) if name == "_" => language("__", Span::mixed_site()),
                ShownDim::Name(name) => {
                    let name = marker(name);
                    quote!(#name)
                }
                ShownDim::Any => language("Any", Span::mixed_site()),
            });
            quote!(::paddle::ghost::tensor::#(#modules)*Tensor<#element #(, #dims)*>)
        }
        Shown::Value | Shown::Tensor { .. } => var(),
        Shown::Sequence(items) => {
            let items = match &**items {
                // `Seq<i64>`
                Shown::Tensor { dtype, dims } if dims.is_empty() => ty(&Shown::Number(*dtype)),
                items => ty(items),
            };
            let sequence = language("Seq", Span::mixed_site());
            quote!(#sequence<#items>)
        }
        Shown::Tuple(parts) => {
            let parts = parts.iter().map(ty);
            quote!((#(#parts,)*))
        }
    }
}
