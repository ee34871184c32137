//! Lowered networks → Rust: data and types, no code that builds anything.

pub(crate) mod export;
pub(crate) mod library;
mod row;
mod spec;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use crate::ast::{Constant, Function, Network, text};
use crate::errors;
use crate::ghost::ghost;
use crate::lower::Lowered;
use crate::parse::{Form, Source};
use crate::report::Report;
use row::{column, row_alias, row_struct, tuple};
use spec::spec;

/// The expansion. The ghost is compiled only when there are no mistakes; editors see it in any case.
///
/// `imported` are the sources of its imports, as they came. Without `shell`, the items of a module alone.
pub(crate) fn emit(
    source: &Source,
    lowered: &[(usize, Lowered)],
    reports: &[Report],
    imported: &TokenStream,
    shell: bool,
) -> TokenStream {
    let network = &source.network;
    let errors = errors::tokens(reports);
    let ghost = ghost(network);
    let imported_constants = network.imports().filter(|import| network.is_constant(import));
    let uses = imported_constants.map(|import| &import.tokens);
    let uses = quote!(#(#uses)*);
    let ghost = if reports.is_empty() { quote!(const _: () = { #ghost };) } else { hidden(&ghost) };
    match &source.form {
        Form::Expression => expression(network, lowered, &errors, &quote!(#uses #ghost)),
        Form::Module { head } => {
            // One that is wrong would be reported by rustc as well.
            let wrong =
                |constant: &Constant| reports.iter().any(|report| constant.value.at.contains(report.at));
            let here = |constant: &&Constant| network.is_here(constant.unit);
            let constants = network.constants.iter().filter(here).filter(|constant| !wrong(constant));
            let constants = constants.map(|constant| &constant.tokens);
            let topologies = lowered.iter().map(|(at, lowered)| topology(&network.functions[*at], lowered));
            let errors = errors.all();
            let broken = !reports.is_empty() || network.is_incomplete();
            let exports = export::exports(network, imported, broken);
            let items = quote! {
                #uses
                #(#constants)*
                #(#errors)*
                #ghost
                #(#topologies)*
                #exports
            };
            if shell { quote!(#head { #items }) } else { items }
        }
    }
}

/// For editors only: rust-analyzer sets the `cfg`, rustc drops the item.
fn hidden(ghost: &TokenStream) -> TokenStream {
    quote! {
        #[allow(unexpected_cfgs)]
        const _: () = {
            #[cfg(rust_analyzer)]
            const _: () = { #ghost };
        };
    }
}

fn expression(
    network: &Network,
    lowered: &[(usize, Lowered)],
    errors: &errors::Tokens,
    ghost: &TokenStream,
) -> TokenStream {
    // An error as the value keeps rustc from complaining about what is done with it.
    if let Some((last, others)) = errors.plain.split_last() {
        let chains = &errors.chains;
        return quote!({ #ghost #(#chains)* #(#others)* #last });
    }
    let chains = &errors.chains;
    let Some((at, lowered)) = lowered.first() else { return quote!({ #ghost #(#chains)* }) };
    let name = &network.functions[*at].ident;
    let columns: Vec<TokenStream> = lowered.inputs.iter().map(column).collect();
    let (row, value) = tuple(&lowered.inputs, &columns);
    let spec = spec(name, "network", &quote!(#row), lowered.program.as_ref());
    let names = lowered.inputs.iter().map(|input| &input.ident);
    // With braces, the type's name is no value, so that an input may have it.
    quote! {{
        #ghost
        #(#chains)*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug)]
        struct #name {}
        #spec
        impl #name {
            #[allow(dead_code, clippy::too_many_arguments)]
            pub fn row(&self, #(#names: #columns),*) -> #row { #value }
        }
        ::paddle::Network::new(#name {})
    }}
}

fn topology(function: &Function, lowered: &Lowered) -> TokenStream {
    let Function { ident, attributes, visibility, .. } = function;
    let name = text(ident);
    let inputs = &lowered.inputs;
    let names: Vec<&Ident> = inputs.iter().map(|input| &input.ident).collect();
    let columns: Vec<TokenStream> = inputs.iter().map(column).collect();
    let (tuple, value) = tuple(inputs, &columns);
    let (row, made) = match inputs.len() {
        1 => (row_alias(&tuple), value),
        _ => (row_struct(&names, &columns, &tuple), quote!(Row { #(#names),* })),
    };
    let spec_ident = Ident::new("Spec", Span::mixed_site());
    let spec = spec(&spec_ident, &name, &quote!(Row), lowered.program.as_ref());
    let module_doc = format!("What belongs to the network `{name}`.");
    let network_doc = format!("The network `{name}`.");
    quote! {
        #attributes
        #[doc = ""]
        #[doc = #network_doc]
        #visibility fn #ident() -> ::paddle::Network<#ident::Spec> {
            ::paddle::Network::new(#ident::Spec)
        }

        #[doc = #module_doc]
        #[allow(dead_code)]
        #visibility mod #ident {
            /// Stands for the network.
            #[derive(Clone, Copy, Debug)]
            pub struct Spec;
            #spec
            impl Spec {
                /// One sample.
                #[allow(clippy::too_many_arguments)]
                pub fn row(&self, #(#names: #columns),*) -> Row { #made }
            }
            #row
        }
    }
}
