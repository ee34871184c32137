//! Symbolic sizes → Rust expressions, which rustc evaluates.

use paddle_core::program::{Arithmetic, Dim, SymbolId};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

/// The size as an expression of type `i64`; `None` if `symbol` has no expression for one of its symbols.
pub(super) fn tokens(dim: &Dim, symbol: &dyn Fn(SymbolId) -> Option<TokenStream>) -> Option<TokenStream> {
    dim.compute(&Expressions { symbol })
}

struct Expressions<'a> {
    symbol: &'a dyn Fn(SymbolId) -> Option<TokenStream>,
}

impl Arithmetic for Expressions<'_> {
    type Size = TokenStream;

    fn number(&self, value: i64) -> Option<TokenStream> {
        let literal = Literal::i64_suffixed(value);
        Some(quote!(#literal))
    }

    fn symbol(&self, symbol: SymbolId) -> Option<TokenStream> {
        (self.symbol)(symbol)
    }

    fn add(&self, a: TokenStream, b: TokenStream) -> Option<TokenStream> {
        Some(quote!((#a + #b)))
    }

    fn multiply(&self, a: TokenStream, b: TokenStream) -> Option<TokenStream> {
        Some(quote!((#a * #b)))
    }

    fn floor_div(&self, a: TokenStream, b: TokenStream) -> Option<TokenStream> {
        Some(quote!((#a).div_euclid(#b)))
    }
}
