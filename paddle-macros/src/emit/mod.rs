//! Lowered networks → Rust. The output is data and types; it has no code that builds programs.

mod constants;
mod dim;
pub(crate) mod export;
pub(crate) mod library;
mod operators;
mod params;
mod row;
mod sizes;
mod spec;

use std::path::Path;

use paddle_language::Analysis;
use paddle_language::ast::{Constant, Function, Import, Network, text};
use paddle_language::configure::ConfiguredOut;
use paddle_language::lower::Lowered;
use paddle_language::parse::{Form, Source};
use paddle_language::sharing;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;

use crate::errors;
use crate::ghost::{ghost, quiet};
use operators::Operators;
use params::Names;
use row::{column, row_alias, row_struct, tuple};
use sizes::{Paths, Sizes};
use spec::Spec;

/// The expansion of an invocation. rustc sees the ghost only if there are no mistakes; editors always see it.
///
/// `imported` are the payloads of its imports, as tokens. With `shell`, a module is emitted with its head and braces,
/// otherwise only its items.
pub(crate) fn emit(source: &Source, analysis: &Analysis, imported: &TokenStream, shell: bool) -> TokenStream {
    let Analysis { lowered, operators, reports, doubts, .. } = analysis;
    let network = &source.network;
    // If a network has mistakes, its parameters are not compared with those of others.
    let broken = !reports.is_empty() || network.is_incomplete();
    let doubts = doubts.iter().map(errors::warning);
    let errors = errors::tokens(reports);
    let ghost = ghost(network);
    let paths = Paths::of(lowered);
    // An import from a module with mistakes may be a constant, so it is kept. If this module has mistakes, rustc cannot
    // know which imports it uses.
    let may_be_unused = broken.then(|| quote!(#[allow(unused_imports)]));
    let constants = network.imports().filter(|import| import.item.is_none() || network.is_constant(import));
    let uses = constants.map(|Import { tokens, .. }| quote!(#may_be_unused #tokens));
    let uses = quote!(#(#uses)*);
    let uses = quote!(#uses #(#doubts)*);
    // rustc could only report consequences of the mistakes, so it does not see the ghost.
    let read = if broken { Some(Vec::new()) } else { quiet(network) };
    let ghost = item(&ghost, read.as_deref());
    match &source.form {
        Form::Expression => {
            let operators = Operators::of(network, operators, !reports.is_empty());
            expression(network, lowered, &paths, &operators, &errors, &quote!(#uses #ghost))
        }
        Form::Module { head } => {
            // rustc would report a constant with a mistake a second time.
            let wrong = |constant: &Constant| {
                reports.iter().any(|report| constant.value.at.contains(report.blame.at))
            };
            let here = |constant: &&Constant| network.is_here(constant.unit);
            let constants = network
                .constants
                .iter()
                .filter(here)
                .filter(|constant| !constant.by_caller && !wrong(constant));
            let constants = constants.map(|constant| &constant.tokens);
            let function = |at: &usize| &network.functions[*at];
            let operators = Operators::of(network, operators, !reports.is_empty());
            let topologies = lowered
                .iter()
                .map(|(at, lowered)| topology(function(at), lowered, &paths, &operators, broken));
            let programs = lowered.iter().filter_map(|(_, lowered)| lowered.program.as_ref());
            // A topology of that name has been reported.
            let reserved = lowered.iter().any(|(at, _)| network.functions[*at].ident == sharing::NAMES);
            let params = (!reserved).then(|| Names::of(programs).module());
            let agreement = sharing::is_open(lowered).then(|| agreement(network, lowered));
            let exports = export::exports(network, imported, broken);
            let sizes = paths.item();
            let models = network.included.iter().map(|model| tracked(&model.file));
            let operators = operators.items();
            // The stub lets rustc say that the item is configured out.
            let out = network.configured_out.iter().filter(|out| out.public);
            let out = out
                .map(|ConfiguredOut { ident, predicate, .. }| quote!(#[cfg(#predicate)] pub fn #ident() {}));
            // The ghost comes first: an editor compares the expansion with that of the same source with a longer name,
            // position by position.
            let items = quote! {
                #ghost
                #(#out)*
                #uses
                #(#constants)*
                #(#errors)*
                #(#models)*
                #sizes
                #operators
                #(#topologies)*
                #params
                #agreement
                #exports
            };
            if shell { quote!(#head { #items }) } else { items }
        }
    }
}

/// Lets rustc compare the parameters of the module's networks, whose sizes it knows. A mistake is shown at the name of
/// the later network.
fn agreement(network: &Network, lowered: &[(usize, Lowered)]) -> TokenStream {
    let functions = lowered.iter().map(|(at, _)| &network.functions[*at]);
    let topologies: Vec<&Ident> =
        functions.filter(|function| function.generics.is_empty()).map(|function| &function.ident).collect();
    let checks = topologies.iter().enumerate().skip(1).map(|(at, ident)| {
        let (others, function) = (&topologies[..at], quote!(::paddle::sharing::agree_with));
        let params = quote! {
            &[#(<#others::Spec as ::paddle::Spec>::PARAMS),*], &<#ident::Spec as ::paddle::Spec>::PARAMS
        };
        errors::call(ident.span().into(), &function, &params)
    });
    quote!(#(const _: () = #checks;)*)
}

/// Lets cargo compile again what a file has changed. The function is called nowhere, so its bytes are in no program.
fn tracked(file: &Path) -> TokenStream {
    let path = file.to_string_lossy();
    quote! {
        const _: () = {
            #[allow(dead_code)]
            fn model() -> &'static [u8] {
                ::core::include_bytes!(#path)
            }
        };
    }
}

/// The ghost as an item. With `read`, only editors see it, and rustc sees uses of these `const`s instead: rust-analyzer
/// sets the `cfg`, rustc drops the item.
///
/// Both forms have the same number of characters: an editor locates the cursor in the expansion of incomplete source by
/// its position in the expansion of the correct source.
fn item(ghost: &TokenStream, read: Option<&[Ident]>) -> TokenStream {
    let attribute = match read {
        Some(_) => quote!(#[cfg(rust_analyzer)]),
        None => quote!(#[allow(clippy::all)]),
    };
    let read = read.unwrap_or_default();
    quote! {
        #[allow(unexpected_cfgs)]
        const _: () = {
            #attribute
            const _: () = { #ghost };
            #(let _ = #read;)*
        };
    }
}

fn expression(
    network: &Network,
    lowered: &[(usize, Lowered)],
    paths: &Paths<'_>,
    operators: &Operators<'_>,
    errors: &[TokenStream],
    ghost: &TokenStream,
) -> TokenStream {
    // An error as the value stops rustc from reporting what is done with the value.
    if let Some((last, others)) = errors.split_last() {
        return quote!({ #ghost #(#others)* #last });
    }
    let Some((at, lowered)) = lowered.first() else { return quote!({ #ghost }) };
    let name = &network.functions[*at].ident;
    let sizes = Sizes::of(lowered, paths, false);
    let columns: Vec<TokenStream> = lowered.inputs.iter().map(|input| column(input, &sizes)).collect();
    let (row, value) = tuple(&lowered.inputs, &columns);
    let generics = Default::default();
    let spec = Spec {
        ident: name,
        at: network.functions[*at].ident.span().into(),
        generics,
        name: "network",
        row: row.clone(),
        sizes: &sizes,
        operators: operators.value(),
        broken: false,
    };
    let spec = spec.implementation(lowered);
    let (table, assertions) = (paths.item(), sizes.assertions());
    let names = lowered.inputs.iter().map(|input| &input.ident);
    let (structs, params, param_names) = Names::of(&lowered.program).fields();
    let captured: Vec<&Ident> = sizes.run_time().collect();
    let (count, values) = (Literal::usize_unsuffixed(sizes.values().len()), sizes.values());
    let (field, made) = match network.captures {
        None => (None, quote!(::paddle::Network::new(#name { params: #param_names }))),
        // Captured variables are read where the network is created.
        Some(_) => {
            let made = quote! {{
                struct Captured { #(#captured: usize),* }
                let sizes = Captured { #(#captured),* };
                ::paddle::Network::with_sizes(#name { params: #param_names, sizes: [#(#values),*] })
            }};
            (Some(quote!(sizes: [i64; #count],)), made)
        }
    };
    // A struct with braces does not occupy its name as a value, so an input may have that name.
    quote! {{
        #ghost
        #table
        #(#assertions)*
        #[allow(non_camel_case_types)]
        struct #name {
            /// The names of the parameters.
            pub params: #params,
            #field
        }
        #structs
        #spec
        impl #name {
            #[allow(dead_code, clippy::too_many_arguments, clippy::unused_unit)]
            pub fn row(&self, #(#names: #columns),*) -> #row { #value }
        }
        #made
    }}
}

fn topology(
    function: &Function,
    lowered: &Lowered,
    paths: &Paths<'_>,
    operators: &Operators<'_>,
    broken: bool,
) -> TokenStream {
    let Function { ident, visibility, .. } = function;
    let name = text(ident);
    let inputs = &lowered.inputs;
    let names: Vec<&Ident> = inputs.iter().map(|input| &input.ident).collect();
    let sizes = Sizes::of(lowered, paths, true);
    let columns: Vec<TokenStream> = inputs.iter().map(|input| column(input, &sizes)).collect();
    let (tuple, value) = tuple(inputs, &columns);
    let (row, made) = match inputs.len() {
        1 => (row_alias(&tuple), value),
        _ => (row_struct(&names, &columns, &tuple), quote!(Row { #(#names),* })),
    };
    let generics = sizes::generics(function);
    let ident_of_spec = Ident::new("Spec", Span::mixed_site());
    let spec = Spec {
        ident: &ident_of_spec,
        at: ident.span().into(),
        generics,
        name: &name,
        row: quote!(Row),
        sizes: &sizes,
        operators: operators.inside(),
        broken,
    };
    let made_by = constructor(function, &spec);
    let implementation = spec.implementation(lowered);
    let (declared, arguments) = &spec.generics;
    let Constructor { outside, declaration, inside } = made_by;
    let operators = operators.of_export();
    let module_doc = format!("What belongs to the network `{name}`.");
    quote! {
        #outside

        #[doc = #module_doc]
        #[allow(dead_code)]
        #visibility mod #ident {
            #operators
            #declaration
            #inside
            #implementation
            impl #declared Spec #arguments {
                /// One sample.
                #[allow(clippy::too_many_arguments)]
                pub fn row(&self, #(#names: #columns),*) -> Row { #made }
            }
            #row
        }
    }
}

/// The code that creates a network of a module.
struct Constructor {
    /// Code next to the module of the network.
    outside: TokenStream,
    /// The type of the network.
    declaration: TokenStream,
    /// Code inside the module of the network.
    inside: TokenStream,
}

fn constructor(function: &Function, spec: &Spec<'_>) -> Constructor {
    let Function { ident, attributes, visibility, .. } = function;
    let Spec { generics: (declared, arguments), name, sizes, .. } = spec;
    let network_doc = format!("The network `{name}`.");
    let run_time: Vec<&Ident> = sizes.run_time().collect();
    // Without const parameters rustc evaluates the checks in any case; with them, when the network is instantiated.
    let (assertions, checks, check) = match function.generics.is_empty() {
        true => (sizes.assertions(), None, None),
        false => {
            let statements = sizes.instance_assertions();
            let values = sizes.known_values();
            let checks = quote! {
                impl #declared Spec #arguments {
                    pub(super) const CHECKS: () = {
                        let sizes: &[i64] = &[#(#values),*];
                        #(#statements)*
                    };
                }
            };
            (Vec::new(), Some(checks), Some(quote!(let () = #ident::Spec::#arguments::CHECKS;)))
        }
    };
    if run_time.is_empty() {
        return Constructor {
            outside: quote! {
                #attributes
                #[doc = ""]
                #[doc = #network_doc]
                #visibility fn #ident #declared() -> ::paddle::Network<#ident::Spec #arguments> {
                    #check
                    ::paddle::Network::new(#ident::Spec)
                }
            },
            declaration: quote! {
                /// Stands for the network.
                pub struct Spec #declared;
            },
            inside: quote!(#checks #(#assertions)*),
        };
    }
    let docs = run_time.iter().map(|size| format!("The size `{}`.", text(size)));
    let (count, values) = (Literal::usize_unsuffixed(sizes.values().len()), sizes.values());
    let check = check.map(|_| quote!(let () = Spec::#arguments::CHECKS;));
    Constructor {
        outside: TokenStream::new(),
        declaration: quote! {
            /// Stands for the network.
            pub struct Spec #declared {
                sizes: [i64; #count],
            }
        },
        inside: quote! {
            #checks
            #(#assertions)*

            /// The sizes of the network that are known at run time.
            #[allow(non_snake_case)]
            #[derive(Clone, Debug)]
            pub struct Sizes {
                #(#[doc = #docs] pub #run_time: usize),*
            }

            #attributes
            #[doc = ""]
            #[doc = #network_doc]
            ///
            /// Errors if it does not fit these sizes.
            pub fn with #declared(
                sizes: Sizes,
            ) -> ::core::result::Result<::paddle::Network<Spec #arguments>, ::paddle::Error> {
                #check
                ::paddle::Network::with_sizes(Spec { sizes: [#(#values),*] })
            }
        },
    }
}
