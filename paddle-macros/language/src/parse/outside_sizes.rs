//! Outside sizes: paths to `const`s of Rust, const parameters, and sizes that are given at run time.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::parse::{ParseStream, Parser as _};

use super::Parser;
use crate::ast::{Constant, ConstantType, OutsideSize, SizeOrigin, text};
use crate::habits;
use crate::messages::Message;

impl Parser<'_> {
    /// A path to a `const` of Rust: `crate::WIDTH`.
    pub(super) fn outside(&mut self, qself: &Option<syn::QSelf>, path: &syn::Path) -> Option<OutsideSize> {
        let plain = path.segments.iter().all(|segment| segment.arguments.is_none());
        // Imported paths begin with `$crate`.
        let name = path.to_token_stream().to_string().replace([' ', '$'], "");
        if qself.is_some() || !plain {
            let instead = self::instead(path);
            self.error(path, Message::RustPath { path: name, instead });
            return None;
        }
        // A path to one of these types cannot be a size.
        if path
            .segments
            .first()
            .is_some_and(|first| first.ident != "paddle" && habits::of_path(&text(&first.ident)).is_some())
        {
            let instead = instead(path);
            self.error(path, Message::RustPath { path: name, instead });
            return None;
        }
        Some(OutsideSize { name, unit: self.unit, origin: SizeOrigin::Path(path.to_token_stream()) })
    }

    /// Parses the const parameters of a topology.
    pub(super) fn generics(&mut self, generics: &syn::Generics, topology: bool) -> Vec<Constant> {
        let mut sizes = Vec::new();
        self.generic_types.clear();
        self.generic_constants.clear();
        for parameter in &generics.params {
            match parameter {
                syn::GenericParam::Const(size) if topology && is_usize(&size.ty) => {
                    let mut size = size.clone();
                    if let Some((_, default)) = size.default.take() {
                        self.foreign(
                            &default,
                            "a default of a const parameter",
                            "its caller gives it: `net::<256>()`",
                        );
                    }
                    let origin = SizeOrigin::Generic(size.ident.clone());
                    sizes.push(Constant::of_the_caller(
                        size.ident.clone(),
                        self.unit,
                        origin,
                        size.to_token_stream(),
                    ));
                }
                syn::GenericParam::Const(size) if topology => {
                    let instead = "a size is a `usize`: `const N: usize`";
                    self.foreign(&size.ty, "a const parameter of this type", instead);
                    self.generic_constants.push(size.ident.clone());
                }
                other => {
                    let instead = "a `fn` is generic as it is: write `x: _`, or name a dimension, `Tensor<f32, _, D>`; a `pub fn` has const parameters, `const N: usize`";
                    self.foreign(other, "this generic parameter", instead);
                    match other {
                        syn::GenericParam::Type(ty) => self.generic_types.push(ty.ident.clone()),
                        syn::GenericParam::Const(size) => self.generic_constants.push(size.ident.clone()),
                        syn::GenericParam::Lifetime(_) => {}
                    }
                }
            }
        }
        sizes
    }

    /// Parses `const V: usize;`, a size that is given at run time; `None` if the tokens are something else.
    pub(super) fn run_time_size(&mut self, tokens: &TokenStream) -> Option<Constant> {
        let (attributes, ident, ty) = without_value.parse2(tokens.clone()).ok()?;
        self.no_function(&attributes);
        if !is_usize(&ty) {
            let instead = "a size that is known at run time is a `usize`: `const N: usize;`";
            self.foreign(&ty, "a `const` of this type without a value", instead);
        }
        let origin = SizeOrigin::RunTime(ident.clone());
        let mut size = Constant::of_the_caller(ident, self.unit, origin, tokens.clone());
        if !is_usize(&ty) {
            size.ty = ConstantType::Invalid;
        }
        Some(size)
    }
}

fn is_usize(ty: &syn::Type) -> bool {
    matches!(ty, syn::Type::Path(path) if path.path.is_ident("usize"))
}

/// Parses a `const` without a value: attributes, name and type.
fn without_value(input: ParseStream<'_>) -> syn::Result<(Vec<syn::Attribute>, Ident, syn::Type)> {
    let attributes = input.call(syn::Attribute::parse_outer)?;
    input.parse::<syn::Visibility>()?;
    input.parse::<syn::Token![const]>()?;
    let ident = input.parse()?;
    input.parse::<syn::Token![:]>()?;
    let ty = input.parse()?;
    input.parse::<syn::Token![;]>()?;
    Ok((attributes, ident, ty))
}

/// The advice for a path to something of Rust.
pub(super) fn instead(path: &syn::Path) -> String {
    let habit = path.segments.first().and_then(|first| habits::of_path(&text(&first.ident)));
    habit.unwrap_or("use layers, the `fn`s of this network and its `const`s").to_string()
}
