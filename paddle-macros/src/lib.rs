//! The procedural macros of `paddle`. Their documentation for users is in the facade.
//!
//! | module | |
//! | --- | --- |
//! | `parse` | tokens → tree (`ast`), reports what is not of the language |
//! | `resolve` | names, arguments, recursion |
//! | `lower` | tree → program, with all checks of types; sub-networks are inlined |
//! | `emit` | program → data and types; `ghost` for editors and lints |
//! | `report`, `messages`, `errors` | the sink of errors, the catalogue of messages, their tokens |

mod ast;
mod emit;
mod errors;
mod expand;
mod ghost;
mod lower;
mod messages;
mod names;
mod parse;
mod place;
mod report;
mod resolve;
mod values;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// A network as an expression, `network!(|x: Tensor<f32, _, 13>| { .. })`, or a module of networks,
/// `network! { pub mod name { .. } }`.
#[proc_macro]
pub fn network(input: TokenStream) -> TokenStream {
    expand::expand(input.into()).into()
}

/// A module of networks that share parameters: `#[network] pub mod name { .. }`.
#[proc_macro_attribute]
pub fn network_module(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(arguments.into(), item.into()).into()
}
