//! The typed row of a network: one sample.

use paddle_core::program::{DType, Dim};
use paddle_language::ast::text;
use paddle_language::lower::Input;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::sizes::Sizes;

/// The type of a row as a tuple, and its value, made from variables with the names of the inputs.
pub(super) fn tuple(inputs: &[Input], columns: &[TokenStream]) -> (TokenStream, TokenStream) {
    let names: Vec<&Ident> = inputs.iter().map(|input| &input.ident).collect();
    match (columns, &names[..]) {
        ([column], [name]) => (column.clone(), quote!(#name)),
        _ => (quote!((#(#columns,)*)), quote!((#(#names,)*))),
    }
}

pub(super) fn row_alias(column: &TokenStream) -> TokenStream {
    quote! {
        /// One sample: the value of the only input.
        pub type Row = #column;
    }
}

/// The struct of a row. It derives only the traits that readers need: for each trait that a crate implements, rustc
/// looks at every implementation in the crates below it, such as ndarray's hundreds.
pub(super) fn row_struct(names: &[&Ident], columns: &[TokenStream], tuple: &TokenStream) -> TokenStream {
    let docs = names.iter().map(|name| format!("The input `{}`.", text(name)));
    let parts = (0..names.len()).map(Literal::usize_unsuffixed);
    quote! {
        /// One sample: a value for each input.
        #[derive(Clone, Debug)]
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

/// The type of an input in one row.
pub(super) fn column(input: &Input, sizes: &Sizes<'_>) -> TokenStream {
    let element = match input.dtype {
        DType::Bool => quote!(bool),
        DType::I32 => quote!(i32),
        DType::I64 => quote!(i64),
        DType::F32 => quote!(f32),
        DType::F64 => quote!(f64),
    };
    // For `[_, 1]` a row has the element itself.
    let row = if input.dims == [Dim::from(1)] { element } else { array(input, element, sizes) };
    let levels = input.levels + usize::from(input.has_own_rows);
    (0..levels).fold(row, |row, _| quote!(::std::vec::Vec<#row>))
}

fn array(input: &Input, element: TokenStream, sizes: &Sizes<'_>) -> TokenStream {
    input.dims.iter().rev().fold(element, |inner, dim| match sizes.length(dim) {
        Some(length) => quote!([#inner; #length]),
        None => quote!(::std::vec::Vec<#inner>),
    })
}
