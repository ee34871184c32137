//! Declarations of the user's own operators: `#[operator(gradient = f)] pub fn swirl(x: ..) -> ..;`.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::quote;

use super::Parser;
use crate::ast::{ConstantType, CustomOperator, Function, PatternKind, TypeExpr, TypeKind, UnitId, text};
use crate::messages::Message;
use crate::report::Extent;

const FORM: &str =
    "write `#[operator(gradient = f)] pub fn name(x: Tensor<f32, _, D>) -> Tensor<f32, _, D>;`";

impl Parser<'_> {
    /// Parses a `fn` without a body, which declares an operator; `None` if the tokens are something else.
    pub(super) fn without_body(&mut self, tokens: &TokenStream, unit: UnitId) -> Option<Function> {
        let mut item = with_empty_body(tokens)?;
        let (marks, others): (Vec<_>, Vec<_>) =
            item.attrs.into_iter().partition(|attribute| attribute.path().is_ident("operator"));
        item.attrs = others;
        let (vis, signature) = (item.vis.clone(), item.sig.clone());
        let ident = signature.ident.clone();
        let mut function = self.function(item, unit, true);
        function.tokens = quote!(#(#marks)* #vis #signature;);
        let Some(mark) = marks.first() else {
            let instead = "write its body in braces, or `#[operator]` in front of it";
            self.foreign(tokens, "a `fn` without a body", instead);
            return Some(function);
        };
        if !function.public {
            let instead = "write `pub fn`: its kernels are an `impl Operator` outside of the module";
            self.foreign(&ident, "an operator that is private", instead);
        }
        if let Some(size) = function.generics.first() {
            let instead = "name a dimension instead, `Tensor<f32, _, D>`";
            self.foreign(&size.tokens, "a const parameter of an operator", instead);
        }
        let before = self.sink.len();
        self.operator_types(&function);
        let is_right = self.sink.len() == before;
        function.operator = Some(CustomOperator { is_right, ..self.mark(mark, &ident) });
        Some(function)
    }

    fn mark(&mut self, mark: &syn::Attribute, ident: &Ident) -> CustomOperator {
        let mut operator =
            CustomOperator { name: text(ident), row_wise: false, is_right: true, gradient: None };
        if mark.meta.require_path_only().is_ok() {
            return operator;
        }
        let read = mark.parse_nested_meta(|meta| {
            if meta.path.is_ident("row_wise") {
                operator.row_wise = true;
            } else if meta.path.is_ident("gradient") {
                operator.gradient = Some((meta.value()?.parse()?, None));
            } else if meta.path.is_ident("name") {
                operator.name = meta.value()?.parse::<syn::LitStr>()?.value();
            } else {
                let message = "an operator has `gradient = f`, `row_wise` and `name = \"..\"`";
                return Err(meta.error(message));
            }
            Ok(())
        });
        if let Err(error) = read {
            self.syntax(&error, &TokenStream::new());
        }
        operator
    }

    /// Checks the types of an operator: positional tensors, named numbers, and one tensor as the result.
    fn operator_types(&mut self, function: &Function) {
        let mut wrong = |at: Extent, what: &str, instead: &str| {
            let (what, instead) = (what.to_string(), instead.to_string());
            self.sink.error(at, Message::NotOfTheLanguage { what, instead });
        };
        for param in &function.params {
            let kind = param.ty.as_ref().map(|ty| &ty.kind);
            let at = param.ty.as_ref().map_or(param.pattern.at, |ty| ty.at);
            match (kind, &param.default) {
                (Some(TypeKind::Invalid), _) => {}
                _ if !matches!(param.pattern.kind, PatternKind::Name { .. }) => {
                    wrong(
                        param.pattern.at,
                        "a pattern as an input",
                        "an input has one name: `x: Tensor<f32, _, 13>`",
                    );
                }
                (Some(TypeKind::Tensor { .. }), None)
                | (Some(TypeKind::Constant(ConstantType::Number { .. })), Some(_)) => {}
                (Some(TypeKind::Constant(ConstantType::Number { .. })), None) => {
                    wrong(
                        at,
                        "a number of an operator without a default",
                        "write `#[default = 1.0] factor: f32`",
                    );
                }
                _ => wrong(at, "this as an input of an operator", FORM),
            }
        }
        match &function.result {
            Some(TypeExpr { kind: TypeKind::Tensor { .. } | TypeKind::Invalid, .. }) => {}
            Some(other) => wrong(other.at, "this as the result of an operator", FORM),
            None => wrong(Extent::of(&function.ident), "an operator without a result", FORM),
        }
    }
}

/// Parses a `fn` that ends with `;` as one with an empty body.
pub fn with_empty_body(tokens: &TokenStream) -> Option<syn::ItemFn> {
    let mut tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let end = match tokens.pop() {
        Some(TokenTree::Punct(end)) if end.as_char() == ';' => end.span(),
        _ => return None,
    };
    let mut body = Group::new(Delimiter::Brace, TokenStream::new());
    body.set_span(end);
    tokens.push(body.into());
    syn::parse2(tokens.into_iter().collect()).ok()
}
