//! The program of a network as data.

use paddle_core::convert::to_wire;
use paddle_core::program::Program;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

/// The program as data. One that has mistakes is left empty: it is there so that its users are not in error too.
pub(super) fn spec(ident: &Ident, name: &str, row: &TokenStream, program: Option<&Program>) -> TokenStream {
    let wire = program.map(to_wire).unwrap_or_default();
    let main = Literal::byte_string(&wire.main.encode_to_vec());
    let startup = Literal::byte_string(&wire.startup.encode_to_vec());
    quote! {
        impl ::paddle::Spec for #ident {
            type Row = #row;
            const NAME: &'static str = #name;
            const PROGRAM: &'static [u8] = #main;
            const STARTUP: &'static [u8] = #startup;
        }
    }
}
