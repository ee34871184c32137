//! The procedural macros of `paddle`. Editors show the documentation of [`network!`] from the files `.md` here; the facade adds
//! links, and tests the examples.
//!
//! | module | |
//! | --- | --- |
//! | `expand` | tokens → tokens, by the front end `paddle_language`; it calls the other modules |
//! | `protocol` | questions to rustc, about imports and predicates of `#[cfg(..)]` |
//! | `emit` | program → data and types; `ghost` for editors and lints |
//! | `errors` | messages of the front end → tokens that make rustc print them |

mod emit;
mod errors;
mod expand;
mod files;
mod ghost;
mod protocol;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

// The examples use the facade, which this crate cannot: they are tested there.
#[cfg_attr(not(doctest), doc = include_str!("network.md"))]
#[cfg_attr(not(doctest), doc = include_str!("layers.md"))]
///
#[cfg_attr(not(doctest), doc = include_str!("names_and_sizes.md"))]
#[proc_macro]
pub fn network(input: TokenStream) -> TokenStream {
    expand::expand(input.into()).into()
}

/// The library layers as documented functions.
#[doc(hidden)]
#[proc_macro]
pub fn __library(_: TokenStream) -> TokenStream {
    emit::library::functions().into()
}

/// Continues a closure after a question has been answered.
#[doc(hidden)]
#[proc_macro]
pub fn __import(input: TokenStream) -> TokenStream {
    expand::continued(input.into(), quote::quote!(::paddle::__import), true).into()
}

/// Continues a module after a question has been answered.
#[doc(hidden)]
#[proc_macro]
pub fn __import_items(input: TokenStream) -> TokenStream {
    expand::continued(input.into(), quote::quote!(::paddle::__import_items), false).into()
}

/// The attribute form of [`network!`], for a module: `#[network] pub mod line { .. }`. It is the form that `rustfmt`
/// formats.
#[proc_macro_attribute]
pub fn network_module(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(arguments.into(), item.into()).into()
}
