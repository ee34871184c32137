//! Outside constants: code that gives their elements to the runtime.

use paddle_core::program::{DType, Type};
use paddle_language::ast::{OutsideSize, SizeOrigin};
use paddle_language::lower::Lowered;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};

/// The outside constants of all topologies, without duplicates. They are evaluated where the user wrote the network,
/// like the paths of sizes.
pub(super) struct Constants<'a> {
    known: Vec<(&'a OutsideSize, Type)>,
}

impl<'a> Constants<'a> {
    pub(super) fn of(lowered: &'a [(usize, Lowered)]) -> Self {
        let mut known: Vec<(&OutsideSize, Type)> = Vec::new();
        for (_, Lowered { sizes, program, .. }) in lowered {
            let Some(program) = program else { continue };
            for (name, ty) in program.outside_constants() {
                let Some((_, place)) = sizes.constants.iter().find(|(other, _)| other == name) else {
                    continue;
                };
                if !known.iter().any(|(other, _)| is_same(other, place)) {
                    known.push((place, ty.clone()));
                }
            }
        }
        Constants { known }
    }

    fn name(at: usize) -> Ident {
        format_ident!("__PADDLE_CONSTANT_{at}", span = Span::mixed_site())
    }

    /// The items that hold the values.
    pub(super) fn items(&self) -> TokenStream {
        let items = self.known.iter().enumerate().filter_map(|(at, (place, ty))| {
            let SizeOrigin::Path(path) = &place.origin else { return None };
            let (name, elements) = (Constants::name(at), elements(path, ty));
            Some(quote! {
                #[doc(hidden)]
                const #name: ::paddle::network::Elements = #elements;
            })
        });
        items.collect()
    }

    /// The value of an outside constant, for code in the module of the items, or with `inside` in a module within that.
    pub(super) fn value(&self, place: &OutsideSize, inside: bool) -> Option<TokenStream> {
        let name = Constants::name(self.known.iter().position(|(known, _)| is_same(known, place))?);
        Some(if inside { quote!(super::#name) } else { quote!(#name) })
    }
}

fn is_same(a: &OutsideSize, b: &OutsideSize) -> bool {
    (&a.name, a.unit) == (&b.name, b.unit)
}

/// The elements of a constant as a list; the last axis varies fastest. rustc compares the constant's type with the
/// declared one, and reports a mistake at the path.
fn elements(path: &TokenStream, ty: &Type) -> TokenStream {
    let (element, variant) = match ty.dtype {
        DType::Bool => (quote!(bool), quote!(Bool)),
        DType::I32 => (quote!(i32), quote!(I32)),
        DType::I64 => (quote!(i64), quote!(I64)),
        DType::F32 => (quote!(f32), quote!(F32)),
        DType::F64 => (quote!(f64), quote!(F64)),
    };
    let lengths = ty.dims.iter().rev().map(|dim| Literal::i64_unsuffixed(dim.constant().unwrap_or(0)));
    let array = lengths.fold(element.clone(), |element, length| quote!([#element; #length]));
    let value = match ty.dims.len() {
        0 => quote!(const VALUE: &[#element] = &[#path];),
        _ => quote!(const ARRAY: &#array = &#path; const VALUE: &[#element] = ARRAY),
    };
    let flattened = (1..ty.dims.len()).map(|_| quote!(.as_flattened()));
    let end = (!ty.dims.is_empty()).then(|| quote!(#(#flattened)*;));
    quote!({ #value #end ::paddle::network::Elements::#variant(VALUE) })
}
