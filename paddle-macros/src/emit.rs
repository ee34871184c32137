//! Lowered networks → Rust: data and types, no code that builds anything.

use paddle_core::convert::to_wire;
use paddle_core::program::{DType, Program};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;

use crate::ast::{Constant, Function, Network, text};
use crate::errors;
use crate::ghost::ghost;
use crate::lower::{Input, Lowered};
use crate::parse::{Form, Source};
use crate::report::Report;

/// The expansion. The ghost is compiled only when there are no mistakes; editors see it in any case.
pub(crate) fn emit(source: &Source, lowered: &[(usize, Lowered)], reports: &[Report]) -> TokenStream {
    let network = &source.network;
    let errors = errors::tokens(reports);
    let ghost = ghost(network);
    let ghost = if reports.is_empty() { quote!(const _: () = { #ghost };) } else { hidden(&ghost) };
    match &source.form {
        Form::Expression => expression(network, lowered, &errors, &ghost),
        Form::Module { head } => {
            // One that is wrong would be reported by rustc as well.
            let wrong =
                |constant: &Constant| reports.iter().any(|report| constant.value.at.contains(report.at));
            let constants = network.constants.iter().filter(|constant| !wrong(constant));
            let constants = constants.map(|constant| &constant.tokens);
            let topologies = lowered.iter().map(|(at, lowered)| topology(&network.functions[*at], lowered));
            let errors = errors.all();
            quote! {
                #head {
                    #(#constants)*
                    #(#errors)*
                    #ghost
                    #(#topologies)*
                }
            }
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

/// The type of a row without names, and its value from variables of the inputs' names.
fn tuple(inputs: &[Input], columns: &[TokenStream]) -> (TokenStream, TokenStream) {
    let names: Vec<&Ident> = inputs.iter().map(|input| &input.ident).collect();
    match (columns, &names[..]) {
        ([column], [name]) => (column.clone(), quote!(#name)),
        _ => (quote!((#(#columns,)*)), quote!((#(#names,)*))),
    }
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

fn row_alias(column: &TokenStream) -> TokenStream {
    quote! {
        /// One sample: the value of the only input.
        pub type Row = #column;
    }
}

fn row_struct(names: &[&Ident], columns: &[TokenStream], tuple: &TokenStream) -> TokenStream {
    let docs = names.iter().map(|name| format!("The input `{}`.", text(name)));
    let parts = (0..names.len()).map(Literal::usize_unsuffixed);
    quote! {
        /// One sample: a value for each input.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Row {
            #(#[doc = #docs] pub #names: #columns),*
        }

        impl ::paddle::Row for Row {
            fn write(&self, columns: &mut ::paddle::Columns<'_>) {
                #(columns.push(&self.#names);)*
            }
        }

        impl ::paddle::reader::IntoItem for Row {
            type Data = Self;

            fn into_item(self) -> ::paddle::reader::Item<Self> {
                ::paddle::reader::Item::Data(self)
            }
        }

        impl ::core::convert::From<#tuple> for Row {
            fn from(tuple: #tuple) -> Self {
                Row { #(#names: tuple.#parts),* }
            }
        }
    }
}

/// The program as data. One that has mistakes is left empty: it is there so that its users are not in error too.
fn spec(ident: &Ident, name: &str, row: &TokenStream, program: Option<&Program>) -> TokenStream {
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

/// The type of an input's value in one row.
fn column(input: &Input) -> TokenStream {
    let element = match input.dtype {
        DType::Bool => quote!(bool),
        DType::I32 => quote!(i32),
        DType::I64 => quote!(i64),
        DType::F32 => quote!(f32),
        DType::F64 => quote!(f64),
    };
    // `[_, 1]` is one element per row.
    if input.dims == [Some(1)] {
        return element;
    }
    input.dims.iter().rev().fold(element, |inner, dim| match dim {
        Some(size) => {
            let size = Literal::i64_unsuffixed(*size);
            quote!([#inner; #size])
        }
        None => quote!(::std::vec::Vec<#inner>),
    })
}
