//! Parameters: the data that rustc compares, and their names as items or fields.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::ops::{Parameter, Program};
use paddle_core::program::VarId;
use paddle_language::parameter_names::identifier;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};

use super::sizes::Sizes;

/// The data about the parameters of a network: names and places in one text, the start of each as bytes of one string,
/// and each distinct use of a parameter once. (A struct for each parameter would be a quarter of rustc's work on a
/// network.)
pub(super) fn constants(program: Option<&Program>, sizes: &Sizes<'_>) -> TokenStream {
    let Some(program) = program else { return TokenStream::new() };
    let mut parameters: Vec<VarId> = program.parameters().collect();
    parameters.sort_by_key(|&parameter| &program.var(parameter).name);
    let (mut texts, mut parts, mut uses) = (String::new(), Vec::new(), Vec::<Parameter<'_>>::new());
    for id in parameters {
        let Some(parameter) = program.parameter(id) else { continue };
        let name = texts.len();
        texts += &program.var(id).name;
        let place = texts.len();
        texts += &program.parameter_place(id).map(|place| place.to_string()).unwrap_or_default();
        let known = uses.iter().position(|known| is_same(known, &parameter));
        let usage = known.unwrap_or(uses.len());
        if known.is_none() {
            uses.push(parameter);
        }
        // No text is longer than four bytes can count.
        parts.extend([name, place, usage].into_iter().flat_map(|part| (part as u32).to_le_bytes()));
    }
    let (parts, uses) = (Literal::byte_string(&parts), uses.iter().map(|usage| self::usage(usage, sizes)));
    quote! {
        const PARAMS: ::paddle::sharing::ParamSpecs =
            ::paddle::sharing::ParamSpecs { texts: #texts, parts: #parts, uses: &[#(#uses),*] };
    }
}

fn is_same(a: &Parameter<'_>, b: &Parameter<'_>) -> bool {
    (a.ty, a.options, a.chosen_initializer()) == (b.ty, b.options, b.chosen_initializer())
}

fn usage(parameter: &Parameter<'_>, sizes: &Sizes<'_>) -> TokenStream {
    let dtype = parameter.ty.dtype.to_string();
    let dims = parameter.ty.dims.iter();
    let dims = dims.map(|dim| sizes.value(dim).unwrap_or(quote!(::paddle::sharing::ParamUse::UNKNOWN)));
    let initializer = optional(parameter.chosen_initializer());
    let trainable = parameter.options.trainable;
    let options = parameter.options.numbers();
    let options = options.into_iter().map(|(_, number)| optional(number.map(|number| format!("{number:?}"))));
    quote! {
        ::paddle::sharing::ParamUse {
            dtype: #dtype,
            shape: &[#(#dims),*],
            initializer: #initializer,
            trainable: #trainable,
            options: [#(#options),*],
        }
    }
}

fn optional(text: Option<String>) -> TokenStream {
    match text {
        Some(text) => quote!(::core::option::Option::Some(#text)),
        None => quote!(::core::option::Option::None),
    }
}

/// The names of parameters as a tree: names that begin with `D.` are below `D`.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The name with a `.` behind it; empty for the root.
    prefix: String,
    /// Whether the name itself is a parameter.
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

    /// The children under names that Rust accepts, without duplicates.
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

    /// The type of the name, for a parameter or for a group, and its text.
    fn value(&self) -> (Ident, &str) {
        let (ty, text) = match self.parameter {
            true => ("ParameterName", self.prefix.trim_end_matches('.')),
            false => ("ParameterGroup", &*self.prefix),
        };
        (Ident::new(ty, Span::mixed_site()), text)
    }

    /// The module `params`: a constant for each name, and a module of the same name for the names below it.
    ///
    /// There may be hundreds of names, and rustc checks each one, so they are plain literals without documentation.
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
            let (ty, text) = names.value();
            let module = (!names.children.is_empty()).then(|| {
                let items = names.module_items();
                quote!(pub mod #ident { #items })
            });
            quote! {
                pub const #ident: ::paddle::#ty = ::paddle::#ty(#text);
                #module
            }
        };
        self.items().into_iter().map(item).collect()
    }

    /// The names as fields: the structs, the type of the root, and its value.
    pub(super) fn fields(&self) -> (TokenStream, Ident, TokenStream) {
        let mut structs = Vec::new();
        let (ty, value) = self.field_struct(&mut structs);
        (structs.into_iter().collect(), ty, value)
    }

    fn field_struct(&self, structs: &mut Vec<TokenStream>) -> (Ident, TokenStream) {
        let (mut names, mut types, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (ident, child) in self.items() {
            let (ty, value) = match child.children.is_empty() {
                true => {
                    let (ty, text) = child.value();
                    (quote!(::paddle::#ty), quote!(::paddle::#ty(#text)))
                }
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
            let (ty, text) = self.value();
            quote! {
                impl ::core::convert::AsRef<str> for #ident {
                    fn as_ref(&self) -> &str {
                        const NAME: ::paddle::#ty = ::paddle::#ty(#text);
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
