//! Outside sizes: the code that gives their values, and the conditions on them that rustc checks.

use std::collections::BTreeMap;

use paddle_core::ops::Program;
use paddle_core::program::{Check, Condition, Dim, SymbolId};
use paddle_language::ast::{Function, OutsideSize, SizeOrigin, UnitId};
use paddle_language::lower::Lowered;
use paddle_language::report::Blame;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;

use super::constants::Constants;
use super::dim;
use crate::errors;
use crate::files::files;

/// The paths of all topologies, without duplicates. They are evaluated where the user wrote the network, so that
/// `super::N` has its meaning there.
pub(super) struct Paths<'a> {
    paths: Vec<&'a OutsideSize>,
    at: BTreeMap<(&'a str, UnitId), usize>,
    constants: Constants<'a>,
}

impl<'a> Paths<'a> {
    pub(super) fn of(lowered: &'a [(usize, Lowered)]) -> Self {
        let constants = Constants::of(lowered);
        let mut paths = Paths { paths: Vec::new(), at: BTreeMap::new(), constants };
        for (_, size) in lowered.iter().flat_map(|(_, lowered)| &lowered.sizes.outside) {
            let key = (size.name.as_str(), size.unit);
            if matches!(size.origin, SizeOrigin::Path(_)) && !paths.at.contains_key(&key) {
                paths.at.insert(key, paths.paths.len());
                paths.paths.push(size);
            }
        }
        paths
    }

    fn table() -> Ident {
        Ident::new("__PADDLE_SIZES", Span::mixed_site())
    }

    /// The item that holds the values.
    pub(super) fn item(&self) -> TokenStream {
        let constants = self.constants.items();
        if self.paths.is_empty() {
            return constants;
        }
        let (table, count) = (Paths::table(), Literal::usize_unsuffixed(self.paths.len()));
        let values = self.paths.iter().filter_map(|size| match &size.origin {
            SizeOrigin::Path(path) => Some(quote!({
                const SIZE: usize = #path;
                SIZE as i64
            })),
            SizeOrigin::Generic(_) | SizeOrigin::RunTime(_) => None,
        });
        quote! {
            #[doc(hidden)]
            const #table: [i64; #count] = [#(#values),*];
            #constants
        }
    }

    /// The value of an outside size, for code in the module of the item, or with `inside` in a module within that.
    fn value(&self, size: &OutsideSize, inside: bool) -> Option<TokenStream> {
        let at = *self.at.get(&(size.name.as_str(), size.unit))?;
        let (table, at) = (Paths::table(), Literal::usize_unsuffixed(at));
        Some(if inside { quote!(super::#table[#at]) } else { quote!(#table[#at]) })
    }
}

/// The outside sizes of one topology.
pub(super) struct Sizes<'a> {
    outside: &'a [(SymbolId, OutsideSize)],
    constants: &'a [(String, OutsideSize)],
    blames: &'a [Blame],
    program: Option<&'a Program>,
    paths: &'a Paths<'a>,
    /// Whether the code is in a module within that of the paths.
    inside: bool,
}

impl<'a> Sizes<'a> {
    pub(super) fn of(lowered: &'a Lowered, paths: &'a Paths<'a>, inside: bool) -> Self {
        let paddle_language::lower::Sizes { outside, constants, blames } = &lowered.sizes;
        Sizes { outside, constants, blames, program: lowered.program.as_ref(), paths, inside }
    }

    /// The outside constants of the program: their names in it, and their elements.
    pub(super) fn constants(&self) -> Vec<TokenStream> {
        let known = self.constants.iter();
        known
            .filter_map(|(name, place)| {
                let elements = self.paths.constants.value(place, self.inside)?;
                Some(quote!((#name, #elements)))
            })
            .collect()
    }

    /// The sizes that the caller gives at run time.
    pub(super) fn run_time(&self) -> impl Iterator<Item = &'a Ident> {
        self.outside.iter().filter_map(|(_, size)| match &size.origin {
            SizeOrigin::RunTime(ident) => Some(ident),
            SizeOrigin::Path(_) | SizeOrigin::Generic(_) => None,
        })
    }

    /// A size of the program as the length of an array; `None` unless rustc knows it wherever the type is used.
    pub(super) fn length(&self, size: &Dim) -> Option<TokenStream> {
        if let Some(size) = size.constant() {
            let size = Literal::i64_unsuffixed(size);
            return Some(quote!(#size));
        }
        let value = dim::tokens(size, &|symbol| match self.size(symbol)? {
            size @ OutsideSize { origin: SizeOrigin::Path(_), .. } => self.paths.value(size, self.inside),
            _ => None,
        })?;
        Some(quote!({ #value as usize }))
    }

    /// A size of the program as an expression of type `i64`; `None` if it is known only at run time.
    pub(super) fn value(&self, size: &Dim) -> Option<TokenStream> {
        dim::tokens(size, &|symbol| {
            let size = self.size(symbol)?;
            match &size.origin {
                SizeOrigin::Path(_) => self.paths.value(size, self.inside),
                SizeOrigin::Generic(ident) => Some(quote!(#ident as i64)),
                SizeOrigin::RunTime(_) => None,
            }
        })
    }

    /// The values of the outside sizes, in the order of the program's symbols.
    pub(super) fn values(&self) -> Vec<TokenStream> {
        let value = |(_, size): &(SymbolId, OutsideSize)| match &size.origin {
            SizeOrigin::Path(_) => self.paths.value(size, self.inside),
            SizeOrigin::Generic(ident) => Some(quote!(#ident as i64)),
            // A size too large for any memory is refused when it is bound.
            SizeOrigin::RunTime(ident) => Some(
                quote!(::core::primitive::i64::try_from(sizes.#ident).unwrap_or(::core::primitive::i64::MAX)),
            ),
        };
        self.outside.iter().filter_map(value).collect()
    }

    fn size(&self, symbol: SymbolId) -> Option<&'a OutsideSize> {
        self.outside.iter().find(|(outside, _)| *outside == symbol).map(|(_, size)| size)
    }

    /// Like [`values`](Self::values), with a number in place of values that rustc does not know.
    pub(super) fn known_values(&self) -> Vec<TokenStream> {
        let values = self.outside.iter().zip(self.values());
        let known = |((_, size), value): (&(SymbolId, OutsideSize), TokenStream)| match size.origin {
            SizeOrigin::RunTime(_) => quote!(0),
            SizeOrigin::Path(_) | SizeOrigin::Generic(_) => value,
        };
        values.map(known).collect()
    }

    /// The items by which rustc checks the conditions of a topology without const parameters.
    pub(super) fn assertions(&self) -> Vec<TokenStream> {
        let values = self.known_values();
        let assertion = |statement| {
            quote! {
                const _: () = {
                    let sizes: &[i64] = &[#(#values),*];
                    #statement
                };
            }
        };
        self.checks(&|origin| matches!(origin, SizeOrigin::Path(_))).into_iter().map(assertion).collect()
    }

    /// The statements, over `sizes: &[i64]`, by which rustc checks the conditions when a topology is instantiated.
    pub(super) fn instance_assertions(&self) -> Vec<TokenStream> {
        self.checks(&|origin| !matches!(origin, SizeOrigin::RunTime(_)))
    }

    /// The checks of the program whose symbols are all known, according to `known`.
    fn checks(&self, known: &dyn Fn(&SizeOrigin) -> bool) -> Vec<TokenStream> {
        let Some(program) = self.program else { return Vec::new() };
        let is_known = |symbol: SymbolId| self.size(symbol).is_some_and(|size| known(&size.origin));
        let checks = program.checks().iter().zip(self.blames);
        let decided = checks.filter(|(check, _)| check.condition.symbols().into_iter().all(is_known));
        decided.filter_map(|(check, blame)| self.check(program, check, blame)).collect()
    }

    /// `if !holds { panic!(..) }`.
    fn check(&self, program: &Program, check: &Check, blame: &Blame) -> Option<TokenStream> {
        let value = |symbol: SymbolId| {
            let at = self.outside.iter().position(|(outside, _)| *outside == symbol)?;
            let at = Literal::usize_unsuffixed(at);
            Some(quote!(sizes[#at]))
        };
        let fails = match &check.condition {
            Condition::Equal(a, b) => {
                let (a, b) = (dim::tokens(a, &value)?, dim::tokens(b, &value)?);
                quote!(#a != #b)
            }
            Condition::Positive(size) => {
                let size = dim::tokens(size, &value)?;
                quote!(#size <= 0)
            }
        };
        let name = |symbol: SymbolId| program.symbols()[symbol.0 as usize].name.clone();
        let message = &check.message;
        let pieces = check.pieces(&name, &|_| true);
        let values = pieces.iter().map(|(_, symbol)| value(*symbol)).collect::<Option<Vec<_>>>()?;
        let pieces = pieces.iter().map(|(piece, _)| piece);
        let trail = blame.trail(&files());
        let text = quote!(
            ::paddle::const_text::Text::new().str(#message) #(.str(#pieces).int(#values))*.str(#trail).as_str()
        );
        let panic = errors::panic(blame.at, &quote!("{}", #text));
        Some(quote!(if #fails { #panic }))
    }
}

/// The const parameters of a topology: their declarations, and as arguments.
pub(super) fn generics(function: &Function) -> (TokenStream, TokenStream) {
    if function.generics.is_empty() {
        return (TokenStream::new(), TokenStream::new());
    }
    let declared = function.generics.iter().map(|size| &size.tokens);
    let names = function.generics.iter().map(|size| &size.ident);
    (quote!(<#(#declared),*>), quote!(<#(#names),*>))
}
