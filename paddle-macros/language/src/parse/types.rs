//! Types of the language.

use paddle_core::ops::BinaryKind;
use paddle_core::program::DType;
use proc_macro2::TokenStream;
use quote::ToTokens;

use super::Parser;
use crate::ast::{ConstantType, DimExpr, DimKind, TypeExpr, TypeKind};
use crate::messages::{Message, did_you_mean};
use crate::report::Extent;

impl Parser<'_> {
    pub(super) fn ty(&mut self, ty: &syn::Type) -> TypeExpr {
        let kind = match ty {
            syn::Type::Infer(_) => TypeKind::Infer,
            syn::Type::Paren(paren) => return self.ty(&paren.elem),
            syn::Type::Group(group) => return self.ty(&group.elem),
            syn::Type::Tuple(tuple) => {
                TypeKind::Tuple(tuple.elems.iter().map(|part| self.ty(part)).collect())
            }
            syn::Type::Path(path) if path.qself.is_none() => self.named_type(&path.path),
            syn::Type::Array(_) => TypeKind::Constant(self.constant_type(ty)),
            syn::Type::Reference(reference) if is_text(reference) => TypeKind::Constant(ConstantType::Text),
            other => {
                self.error(other, Message::TypeSyntax { found: "this".to_string() });
                TypeKind::Invalid
            }
        };
        TypeExpr { kind, at: Extent::of(ty) }
    }

    fn named_type(&mut self, path: &syn::Path) -> TypeKind {
        let Some(segment) = path.segments.first().filter(|_| path.segments.len() == 1) else {
            return self.no_type(path);
        };
        if segment.arguments.is_none() {
            let name = segment.ident.to_string();
            return match (&*name, number(&name)) {
                ("Activation", _) => TypeKind::Activation,
                ("Word", _) => TypeKind::Word,
                (_, Some(number)) => TypeKind::Constant(number),
                _ => self.no_type(path),
            };
        }
        let arguments = match &segment.arguments {
            syn::PathArguments::AngleBracketed(arguments) => &arguments.args,
            _ => return self.no_type(path),
        };
        if segment.ident == "Seq" {
            return self.sequence(path, arguments.iter().collect());
        }
        let mut arguments = arguments.iter();
        let (true, Some(first)) = (segment.ident == "Tensor", arguments.next()) else {
            return self.no_type(path);
        };
        let dtype = self.dtype(first);
        let dims: Vec<Option<DimExpr>> = arguments.map(|argument| self.dim(argument)).collect();
        match (dtype, dims.into_iter().collect()) {
            (Some(dtype), Some(dims)) => TypeKind::Tensor { dtype, dims },
            _ => TypeKind::Invalid,
        }
    }

    /// `Seq<i64>`, `Seq<Tensor<f32, 64>>`, `Seq<Seq<i64>>`.
    fn sequence(&mut self, path: &syn::Path, arguments: Vec<&syn::GenericArgument>) -> TypeKind {
        let [argument] = arguments[..] else { return self.no_type(path) };
        let syn::GenericArgument::Type(syn::Type::Path(token)) = argument else { return self.no_type(path) };
        let generic = |name: &str| {
            let last = token.path.segments.last();
            last.is_some_and(|segment| segment.ident == name && !segment.arguments.is_empty())
        };
        if !generic("Tensor") && !generic("Seq") {
            let dtype = self.dtype(argument);
            let of = |dtype| TypeKind::Sequence { levels: 1, dtype, dims: Vec::new() };
            return dtype.map_or(TypeKind::Invalid, of);
        }
        match self.named_type(&token.path) {
            TypeKind::Tensor { dtype, dims } => TypeKind::Sequence { levels: 1, dtype, dims },
            TypeKind::Sequence { levels, dtype, dims } => {
                TypeKind::Sequence { levels: levels + 1, dtype, dims }
            }
            other => other,
        }
    }

    fn no_type(&mut self, path: &syn::Path) -> TypeKind {
        if path.get_ident().is_some_and(|ident| self.generic_types.contains(ident)) {
            return TypeKind::Invalid;
        }
        let found = path.to_token_stream().to_string().replace(' ', "");
        self.error(path, Message::TypeSyntax { found: format!("`{found}`") });
        TypeKind::Invalid
    }

    fn dtype(&mut self, argument: &syn::GenericArgument) -> Option<DType> {
        let found = argument.to_token_stream().to_string();
        let dtype = DType::from_name(&found);
        if dtype.is_none() {
            let hint = did_you_mean(&found, DType::ALL.map(DType::name));
            self.error(argument, Message::UnknownElementType { found, hint });
        }
        dtype
    }

    /// Parses the type of a `const`. `usize` marks a size.
    pub(super) fn constant_type(&mut self, ty: &syn::Type) -> ConstantType {
        match ty {
            syn::Type::Paren(paren) => return self.constant_type(&paren.elem),
            syn::Type::Group(group) => return self.constant_type(&group.elem),
            syn::Type::Array(array) => {
                let element = self.constant_type(&array.elem);
                return ConstantType::Array(Box::new(element), self.boxed(array.len.clone()));
            }
            syn::Type::Tuple(tuple) => {
                return ConstantType::Tuple(
                    tuple.elems.iter().map(|part| self.constant_type(part)).collect(),
                );
            }
            syn::Type::Reference(reference) if is_text(reference) => return ConstantType::Text,
            syn::Type::Path(path) => {
                if let Some(number) = path.path.get_ident().and_then(|name| number(&name.to_string())) {
                    return number;
                }
            }
            _ => {}
        }
        let found = ty.to_token_stream().to_string();
        let instead = "a `const` of a network is a `usize`, `i64`, `i32`, `f32`, `f64`, `bool` or `&str`, \
                       or an array or tuple of these";
        self.foreign(ty, &format!("a `const` of type `{found}`"), instead);
        ConstantType::Invalid
    }

    fn dim(&mut self, argument: &syn::GenericArgument) -> Option<DimExpr> {
        let at = Extent::of(argument);
        match argument {
            syn::GenericArgument::Type(syn::Type::Infer(_)) => Some(DimExpr { kind: DimKind::Any, at }),
            syn::GenericArgument::Type(syn::Type::Path(path)) => {
                let kind = match path.path.get_ident() {
                    Some(ident) => DimKind::Name { ident: ident.clone(), constant: None },
                    None => DimKind::Outside(self.outside(&path.qself, &path.path)?),
                };
                Some(DimExpr { kind, at })
            }
            syn::GenericArgument::Const(expr) => self.size(expr),
            other => self.no_dim(other),
        }
    }

    fn no_dim(&mut self, tokens: &impl ToTokens) -> Option<DimExpr> {
        let found = tokens.to_token_stream().to_string();
        self.error(tokens, Message::TypeSyntax { found: format!("`{found}` as a dimension") });
        None
    }

    /// Parses a size: a number, a name, `{ 2 * T }`.
    fn size(&mut self, expr: &syn::Expr) -> Option<DimExpr> {
        let at = Extent::of(expr);
        let kind = match expr {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(int), .. }) => match int.base10_parse() {
                Ok(size) => DimKind::Size(size),
                Err(error) => {
                    self.syntax(&error, &TokenStream::new());
                    return None;
                }
            },
            syn::Expr::Path(path) => match path.path.get_ident() {
                Some(ident) => DimKind::Name { ident: ident.clone(), constant: None },
                None => DimKind::Outside(self.outside(&path.qself, &path.path)?),
            },
            syn::Expr::Paren(paren) => return self.size(&paren.expr),
            syn::Expr::Group(group) => return self.size(&group.expr),
            syn::Expr::Block(block) => match &block.block.stmts[..] {
                [syn::Stmt::Expr(inner, None)] => return self.size(inner),
                _ => return self.no_dim(expr),
            },
            syn::Expr::Binary(binary) => {
                let kind = match binary.op {
                    syn::BinOp::Add(_) => BinaryKind::Add,
                    syn::BinOp::Sub(_) => BinaryKind::Sub,
                    syn::BinOp::Mul(_) => BinaryKind::Mul,
                    syn::BinOp::Div(_) => BinaryKind::FloorDiv,
                    _ => return self.no_dim(expr),
                };
                let (x, y) = (self.size(&binary.left), self.size(&binary.right));
                DimKind::Binary(kind, Box::new(x?), Box::new(y?))
            }
            part @ (syn::Expr::Index(_) | syn::Expr::Field(_) | syn::Expr::MethodCall(_)) => {
                DimKind::Part(self.boxed(part.clone()))
            }
            other => return self.no_dim(other),
        };
        Some(DimExpr { kind, at })
    }
}

/// `&str`
fn is_text(reference: &syn::TypeReference) -> bool {
    reference.mutability.is_none()
        && matches!(&*reference.elem, syn::Type::Path(path) if path.path.is_ident("str"))
}

/// The number type of this name.
fn number(name: &str) -> Option<ConstantType> {
    match name {
        "usize" => Some(ConstantType::Number { dtype: DType::I64, counts: true }),
        _ => DType::from_name(name).map(|dtype| ConstantType::Number { dtype, counts: false }),
    }
}
