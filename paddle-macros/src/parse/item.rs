//! Modules, functions, constants, blocks, patterns.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::visit::Visit;

use super::{Form, Parser, Source};
use crate::ast::{
    Block, Constant, Expr, ExprKind, Function, Network, Param, Pattern, PatternKind, Statement, TypeExpr,
    text,
};
use crate::messages::Message;
use crate::report::Extent;

const CLOSURE_FORM: &str = "write `network!(|x: Tensor<f32, _, 13>| { .. })`, or a module of `pub fn`s";

impl Parser<'_> {
    /// The expression form: a closure whose parameters are the inputs.
    pub(super) fn network(&mut self, expr: syn::Expr) -> Option<Source> {
        let syn::Expr::Closure(closure) = expr else {
            self.foreign(&expr, "a network of this form", CLOSURE_FORM);
            return None;
        };
        self.plain_closure(&closure);
        self.no_attributes_in_closure(&closure);
        let params = closure.inputs.into_iter().map(|input| self.param(input)).collect();
        let result = self.result(closure.output);
        let body = match *closure.body {
            syn::Expr::Block(block) => self.block(block.block),
            other => {
                let at = Extent::of(&other);
                let tail = self.expr(other);
                Block { statements: Vec::new(), tail: Some(Box::new(tail)), at }
            }
        };
        let function = Function {
            ident: Ident::new("network", Span::mixed_site()),
            topology: true,
            attributes: TokenStream::new(),
            visibility: TokenStream::new(),
            params,
            result,
            body,
        };
        let network = Network { functions: vec![function], ..Network::default() };
        Some(Source { network, form: Form::Expression })
    }

    /// The module form.
    pub(super) fn module(&mut self, mut item: syn::ItemMod) -> Option<Source> {
        // `//!` and `#![..]` stand before the module that is emitted.
        for attribute in &mut item.attrs {
            attribute.style = syn::AttrStyle::Outer;
        }
        let (attrs, vis, ident) = (&item.attrs, &item.vis, &item.ident);
        let head = quote!(#(#attrs)* #vis mod #ident);
        let Some((_, items)) = item.content else {
            self.foreign(ident, "a module in another file", "write its body here: `pub mod .. { .. }`");
            return None;
        };
        let (mut functions, mut constants): (Vec<Function>, Vec<Constant>) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                syn::Item::Fn(function) => {
                    let function = self.function(function);
                    match functions.iter().any(|other: &Function| other.ident == function.ident) {
                        true => self.duplicate(&function.ident),
                        false => functions.push(function),
                    }
                }
                syn::Item::Const(constant) => {
                    let constant = self.constant(constant);
                    match constants.iter().any(|other: &Constant| other.ident == constant.ident) {
                        true => self.duplicate(&constant.ident),
                        false => constants.push(constant),
                    }
                }
                syn::Item::Use(import) => self.not_supported(
                    &import,
                    "importing into a network",
                    "write the sub-network as a `fn` of this module",
                ),
                syn::Item::Macro(call) => self.foreign_macro(&call.mac),
                other => self.foreign(&other, "this item", "a module of networks has `fn`s and `const`s"),
            }
        }
        if !functions.iter().any(|function| function.topology) {
            self.sink.error(ident.span(), Message::NoTopology { name: text(ident) });
        }
        let network = Network { constants, functions, bindings: Vec::new() };
        Some(Source { network, form: Form::Module { head } })
    }

    /// The second of a name is left out: rustc would report it as well.
    fn duplicate(&mut self, ident: &Ident) {
        self.sink.error(ident.span(), Message::Duplicate { name: text(ident) });
    }

    fn function(&mut self, item: syn::ItemFn) -> Function {
        self.no_attributes_in_function(&item);
        let signature = item.sig;
        let modifier = [
            signature.constness.map(|token| token.to_token_stream()),
            signature.asyncness.map(|token| token.to_token_stream()),
            signature.abi.as_ref().map(|token| token.to_token_stream()),
        ];
        for token in modifier.into_iter().flatten().chain([signature.safety.to_token_stream()]) {
            if !token.is_empty() {
                self.foreign(&token, "this modifier", "write `fn` or `pub fn` alone");
            }
        }
        if !signature.generics.params.is_empty() {
            let instead =
                "a `fn` is generic as it is: write `x: _`, or name a dimension, `Tensor<f32, _, D>`";
            self.not_supported(&signature.generics, "generic parameters", instead);
        }
        if let Some(clause) = &signature.generics.where_clause {
            self.foreign(clause, "a `where` clause", "remove it");
        }
        if let Some(variadic) = &signature.variadic {
            self.foreign(variadic, "`...`", "name the inputs: `x: Tensor<f32, _, 13>`");
        }
        let topology = match &item.vis {
            syn::Visibility::Inherited => false,
            syn::Visibility::Public(_) => true,
            syn::Visibility::Restricted(restricted) => {
                let instead = "`pub fn` is a network that can be run, `fn` a part of others";
                self.foreign(restricted, "restricted visibility", instead);
                true
            }
        };
        let mut params = Vec::new();
        for input in signature.inputs {
            match input {
                syn::FnArg::Typed(typed) => params.push(self.typed(typed)),
                syn::FnArg::Receiver(receiver) => {
                    self.foreign(&receiver, "`self`", "name the inputs: `x: Tensor<f32, _, 13>`");
                }
            }
        }
        let (attrs, vis) = (item.attrs, item.vis);
        Function {
            ident: signature.ident,
            topology,
            attributes: quote!(#(#attrs)*),
            visibility: quote!(#vis),
            params,
            result: self.result(signature.output),
            body: self.block(*item.block),
        }
    }

    fn constant(&mut self, item: syn::ItemConst) -> Constant {
        let tokens = item.to_token_stream();
        let ty = self.constant_type(&item.ty);
        Constant { ident: item.ident, binding: None, ty, value: self.expr(*item.expr), tokens }
    }

    fn result(&mut self, output: syn::ReturnType) -> Option<TypeExpr> {
        match output {
            syn::ReturnType::Default => None,
            syn::ReturnType::Type(_, ty) => Some(self.ty(&ty)),
        }
    }

    pub(super) fn plain_closure(&mut self, closure: &syn::ExprClosure) {
        let modifiers = [
            closure.constness.map(|token| token.span()),
            closure.asyncness.map(|token| token.span()),
            closure.capture.map(|token| token.span()),
            closure.lifetimes.as_ref().map(|lifetimes| lifetimes.span()),
        ];
        for span in modifiers.into_iter().flatten() {
            let message = Message::NotOfTheLanguage {
                what: "this modifier".into(),
                instead: "a closure of a network captures values anyway: write `|x| ..` alone".into(),
            };
            self.sink.error(span, message);
        }
    }

    pub(super) fn param(&mut self, pattern: syn::Pat) -> Param {
        match pattern {
            syn::Pat::Type(typed) => self.typed(typed),
            pattern => Param { pattern: self.pattern(pattern), ty: None },
        }
    }

    fn typed(&mut self, typed: syn::PatType) -> Param {
        Param { pattern: self.pattern(*typed.pat), ty: Some(self.ty(&typed.ty)) }
    }

    pub(super) fn pattern(&mut self, pattern: syn::Pat) -> Pattern {
        let at = Extent::of(&pattern);
        let kind = match pattern {
            syn::Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => PatternKind::Name {
                ident: name.ident,
                mutable: name.mutability.map(|token| token.span),
                binding: None,
            },
            syn::Pat::Tuple(tuple) => {
                PatternKind::Tuple(tuple.elems.into_iter().map(|part| self.pattern(part)).collect())
            }
            syn::Pat::Paren(paren) => return self.pattern(*paren.pat),
            syn::Pat::Wild(_) => PatternKind::Wildcard,
            other => {
                let instead = "bind a name, `x`, or names, `(a, b)`";
                self.foreign(&other, "this pattern", instead);
                // The names that it binds are known, so that their uses are no mistakes of their own.
                let name = |ident| PatternKind::Name { ident, mutable: None, binding: None };
                let parts = names(&other).into_iter().map(|ident| Pattern { kind: name(ident), at });
                PatternKind::Tuple(parts.collect())
            }
        };
        Pattern { kind, at }
    }

    pub(super) fn block(&mut self, block: syn::Block) -> Block {
        let braces = block.brace_token.span;
        let at = Extent { start: braces.open(), end: braces.close() };
        let mut statements = Vec::with_capacity(block.stmts.len());
        let mut tail = None;
        let last = block.stmts.len().saturating_sub(1);
        for (i, statement) in block.stmts.into_iter().enumerate() {
            match statement {
                syn::Stmt::Local(local) => statements.push(self.local(local)),
                syn::Stmt::Expr(expr, None) if i == last => tail = Some(Box::new(self.expr(expr))),
                syn::Stmt::Expr(expr, semicolon) => {
                    let value = self.expr(expr);
                    statements.push(Statement::Expr { value, semicolon: semicolon.is_some() });
                }
                syn::Stmt::Item(syn::Item::Const(constant)) => {
                    statements.push(Statement::Const(self.constant(constant)));
                }
                syn::Stmt::Item(item) => {
                    let instead = "bind a sub-network with `let f = |x| ..`, or write a `fn` of the module";
                    self.foreign(&item, "an item in a body", instead);
                }
                syn::Stmt::Macro(statement) => {
                    self.foreign_macro(&statement.mac);
                    let at = Extent::of(&statement.mac);
                    let value = Expr { kind: ExprKind::Invalid, at };
                    match (i == last, statement.semi_token) {
                        (true, None) => tail = Some(Box::new(value)),
                        _ => statements.push(Statement::Expr { value, semicolon: true }),
                    }
                }
            }
        }
        Block { statements, tail, at }
    }

    fn local(&mut self, local: syn::Local) -> Statement {
        let Param { pattern, ty } = self.param(local.pat);
        let value = local.init.map(|init| {
            if let Some((token, block)) = init.diverge {
                let instead = "a pattern of a network always matches";
                self.foreign(&quote!(#token #block), "`let .. else`", instead);
            }
            self.expr(*init.expr)
        });
        Statement::Let { span: local.let_token.span, pattern, ty, value }
    }

    pub(super) fn foreign_macro(&mut self, call: &syn::Macro) {
        let name = call.path.to_token_stream().to_string().replace(' ', "");
        self.error(call, Message::Macro { name });
    }
}

/// The names that a pattern of Rust binds.
pub(super) fn names(pattern: &syn::Pat) -> Vec<Ident> {
    let mut names = Names(Vec::new());
    names.visit_pat(pattern);
    names.0
}

struct Names(Vec<Ident>);

impl Visit<'_> for Names {
    fn visit_pat_ident(&mut self, name: &syn::PatIdent) {
        self.0.push(name.ident.clone());
        syn::visit::visit_pat_ident(self, name);
    }
}
