//! Parameters: what is written down of them for rustc to compare, and their names as items or fields.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::program::{Program, VarId};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

use super::sizes::Sizes;
use crate::names::identifier;

/// The constants of a network about its parameters.
pub(super) fn constants(program: Option<&Program>, sizes: &Sizes<'_>) -> TokenStream {
    let Some(program) = program else { return TokenStream::new() };
    let mut parameters: Vec<VarId> = program.parameters().collect();
    parameters.sort_by_key(|&parameter| &program.var(parameter).name);
    let specs = parameters.into_iter().filter_map(|parameter| spec(program, parameter, sizes));
    quote! {
        const PARAMS: &'static [::paddle::sharing::ParamSpec] = &[#(#specs),*];
    }
}

fn spec(program: &Program, var: VarId, sizes: &Sizes<'_>) -> Option<TokenStream> {
    let (name, parameter) = (&program.var(var).name, program.parameter(var)?);
    let dtype = parameter.ty.dtype.to_string();
    let dims = parameter.ty.dims.iter();
    let dims = dims.map(|dim| sizes.value(dim).unwrap_or(quote!(::paddle::sharing::ParamSpec::UNKNOWN)));
    let initializer = optional(parameter.chosen_initializer());
    let trainable = parameter.options.trainable;
    let options = parameter.options.numbers();
    let options = options.into_iter().map(|(_, number)| optional(number.map(|number| format!("{number:?}"))));
    let place = program.parameter_place(var).map(|place| place.to_string()).unwrap_or_default();
    Some(quote! {
        ::paddle::sharing::ParamSpec {
            name: #name,
            dtype: #dtype,
            shape: &[#(#dims),*],
            initializer: #initializer,
            trainable: #trainable,
            options: [#(#options),*],
            place: #place,
        }
    })
}

fn optional(text: Option<String>) -> TokenStream {
    match text {
        Some(text) => quote!(::core::option::Option::Some(#text)),
        None => quote!(::core::option::Option::None),
    }
}

/// The names of parameters as a tree: those below `D.` are the children of `D`.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// With the `.` behind it; empty for the root.
    prefix: String,
    /// Whether this is itself the name of a parameter.
    parameter: bool,
    children: BTreeMap<String, Names>,
}

impl Names {
    pub(super) fn of<'p>(programs: impl IntoIterator<Item = &'p Program>) -> Self {
        let mut root = Names::default();
        for program in programs {
            for parameter in program.parameters() {
                root.insert(&program.var(parameter).name);
            }
        }
        root
    }

    fn insert(&mut self, name: &str) {
        let mut at = self;
        for segment in name.split('.') {
            let prefix = format!("{}{segment}.", at.prefix);
            at = at.children.entry(segment.to_string()).or_default();
            at.prefix = prefix;
        }
        at.parameter = true;
    }

    /// The children under names that Rust accepts, each one once.
    fn items(&self) -> Vec<(Ident, &Names)> {
        let (mut taken, mut items) = (BTreeSet::new(), Vec::new());
        for (segment, names) in &self.children {
            let mut name = identifier(segment);
            while !taken.insert(name.to_string()) {
                name = format_ident!("{name}_");
            }
            items.push((name, names));
        }
        items
    }

    /// The name of the parameter, or the group.
    fn value(&self) -> TokenStream {
        let prefix = &self.prefix;
        match self.parameter {
            true => {
                let name = prefix.trim_end_matches('.');
                quote!(::paddle::ParameterName(#name))
            }
            false => quote!(::paddle::ParameterGroup(#prefix)),
        }
    }

    /// The module `params`: a constant for each name, and a module of that name for what is below.
    ///
    /// There may be hundreds of them, and rustc checks each: so they are literals, without documentation of their own.
    pub(super) fn module(&self) -> TokenStream {
        let items = self.module_items();
        quote! {
            /// The names of the parameters: `D` is every parameter below `D.`, `D::w` is one.
            #[allow(dead_code, missing_docs, non_upper_case_globals, non_snake_case)]
            pub mod params { #items }
        }
    }

    fn module_items(&self) -> TokenStream {
        let item = |(ident, names): (Ident, &Names)| {
            let value = names.value();
            let ty = if names.parameter { quote!(ParameterName) } else { quote!(ParameterGroup) };
            let module = (!names.children.is_empty()).then(|| {
                let items = names.module_items();
                quote!(pub mod #ident { #items })
            });
            quote! {
                pub const #ident: ::paddle::#ty = #value;
                #module
            }
        };
        self.items().into_iter().map(item).collect()
    }

    /// The same as fields: the structs, the type of the root, and its value.
    pub(super) fn fields(&self) -> (TokenStream, Ident, TokenStream) {
        let mut structs = Vec::new();
        let (ty, value) = self.field_struct(&mut structs);
        (structs.into_iter().collect(), ty, value)
    }

    fn field_struct(&self, structs: &mut Vec<TokenStream>) -> (Ident, TokenStream) {
        let (mut names, mut types, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (ident, child) in self.items() {
            let (ty, value) = match child.children.is_empty() {
                true => (quote!(::paddle::ParameterName), child.value()),
                false => {
                    let (ty, value) = child.field_struct(structs);
                    (quote!(#ty), value)
                }
            };
            names.push(ident);
            types.push(ty);
            values.push(value);
        }
        let (ident, prefix) =
            (Ident::new(&format!("Params{}", structs.len()), Span::mixed_site()), &self.prefix);
        let as_name = self.parameter.then(|| {
            let value = self.value();
            quote! {
                impl ::core::convert::AsRef<str> for #ident {
                    fn as_ref(&self) -> &str {
                        const NAME: ::paddle::ParameterName = #value;
                        ::core::convert::AsRef::<str>::as_ref(&NAME)
                    }
                }
            }
        });
        structs.push(quote! {
            #[allow(dead_code, non_snake_case)]
            #[derive(Clone, Copy)]
            struct #ident { #(pub #names: #types),* }
            impl ::core::convert::From<#ident> for ::paddle::ParameterGroup {
                fn from(_: #ident) -> Self {
                    ::paddle::ParameterGroup(#prefix)
                }
            }
            #as_name
        });
        (ident.clone(), quote!(#ident { #(#names: #values),* }))
    }
}
