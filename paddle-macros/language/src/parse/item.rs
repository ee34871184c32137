//! Functions, constants, blocks, patterns.

use proc_macro2::Ident;
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::visit::Visit;

use super::Parser;
use super::attributes::ItemAttributes;
use crate::ast::{
    Block, Constant, Expr, ExprKind, Function, Param, Pattern, PatternKind, Statement, TypeExpr, UnitId, text,
};
use crate::messages::Message;
use crate::report::Extent;

impl Parser<'_> {
    /// Reports a second item of a name, and leaves it out so that rustc does not report it again.
    pub(super) fn duplicate(&mut self, ident: &Ident) {
        self.sink.error(ident.span(), Message::Duplicate { name: text(ident) });
    }

    pub(super) fn function(&mut self, mut item: syn::ItemFn, unit: UnitId, is_operator: bool) -> Function {
        // `#![..]` in the body means the same as `#[..]` on the `fn`.
        item.attrs.iter_mut().for_each(|attribute| attribute.style = syn::AttrStyle::Outer);
        self.no_attributes_in_function(&item);
        let mut tokens = item.clone();
        tokens.attrs.clear();
        let (operators, attrs): (Vec<_>, Vec<_>) =
            item.attrs.into_iter().partition(|attribute| attribute.path().is_ident("operator"));
        let (marks, attrs): (Vec<_>, Vec<_>) =
            attrs.into_iter().partition(|attribute| attribute.path().is_ident("layer"));
        for mark in &operators {
            let instead = "end it with `;`: an `impl Operator` for it has its kernels";
            self.foreign(mark, "an operator with a body", instead);
        }
        for mark in &marks {
            if mark.meta.require_path_only().is_err() {
                self.foreign(mark, "an argument of `#[layer]`", "write `#[layer]` alone");
            }
        }
        let ItemAttributes { lints, others } = self.item_attributes(attrs);
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
        if let Some(clause) = &signature.generics.where_clause
            && signature.generics.params.is_empty()
        {
            self.foreign(clause, "a `where` clause", "remove it");
        }
        if let Some(variadic) = &signature.variadic {
            self.foreign(variadic, "`...`", "name the inputs: `x: Tensor<f32, _, 13>`");
        }
        let public = match &item.vis {
            syn::Visibility::Inherited => false,
            syn::Visibility::Public(_) => true,
            syn::Visibility::Restricted(restricted) => {
                let instead = "`pub fn` is a network that can be run, `fn` a part of others";
                self.foreign(restricted, "restricted visibility", instead);
                true
            }
        };
        let generics = self.generics(&signature.generics, public);
        let mut params = Vec::new();
        for input in signature.inputs {
            match input {
                syn::FnArg::Typed(typed) => params.push(self.typed(typed)),
                syn::FnArg::Receiver(receiver) => {
                    self.foreign(&receiver, "`self`", "name the inputs: `x: Tensor<f32, _, 13>`");
                }
            }
        }
        let vis = item.vis;
        let unknown = std::mem::take(&mut self.generic_constants).into_iter().map(Statement::unknown);
        // An `expect` is fulfilled only in the ghost, so only the ghost gets it.
        let shared = lints.iter().filter(|lint| !lint.path().is_ident("expect"));
        let attributes = quote!(#(#others)* #(#shared)*);
        let mut body = self.block(*item.block);
        body.statements.splice(0..0, unknown);
        let function = Function {
            ident: signature.ident,
            unit,
            public,
            layer: !marks.is_empty(),
            operator: None,
            attributes,
            lints: quote!(#(#lints)*),
            visibility: quote!(#vis),
            generics,
            params,
            result: self.result(signature.output),
            body,
            tokens: tokens.into_token_stream(),
        };
        if !is_operator && !function.is_topology() {
            self.no_function(&others);
        }
        function
    }

    pub(super) fn constant(&mut self, item: syn::ItemConst, unit: UnitId) -> Constant {
        let public = !matches!(item.vis, syn::Visibility::Inherited);
        let tokens = item.to_token_stream();
        let ty = self.constant_type(&item.ty);
        Constant {
            ident: item.ident,
            unit,
            public,
            binding: None,
            ty,
            by_caller: false,
            value: self.expr(*item.expr),
            tokens,
        }
    }

    pub(super) fn result(&mut self, output: syn::ReturnType) -> Option<TypeExpr> {
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
            pattern => Param { pattern: self.pattern(pattern), ty: None, default: None },
        }
    }

    fn typed(&mut self, typed: syn::PatType) -> Param {
        let mut default = None;
        for attribute in typed.attrs {
            match attribute.meta {
                syn::Meta::NameValue(meta) if meta.path.is_ident("default") && default.is_none() => {
                    default = Some(self.expr(meta.value));
                }
                other => {
                    let instead = "a parameter may have a default: `#[default = 2] size: usize`";
                    self.foreign(&other, "this attribute", instead);
                }
            }
        }
        Param { pattern: self.pattern(*typed.pat), ty: Some(self.ty(&typed.ty)), default }
    }

    pub(super) fn pattern(&mut self, pattern: syn::Pat) -> Pattern {
        let at = Extent::of(&pattern);
        let kind = match pattern {
            syn::Pat::Ident(name)
                if matches!(&*name.ident.to_string(), "self" | "Self" | "super" | "crate") =>
            {
                self.foreign(&name.ident, "this word as a name", "choose another name");
                let name = PatternKind::Name { ident: name.ident, mutable: None, binding: None };
                PatternKind::Invalid(vec![Pattern { kind: name, at }])
            }
            syn::Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => PatternKind::Name {
                ident: name.ident,
                mutable: name.mutability.map(|token| token.span),
                binding: None,
            },
            syn::Pat::Tuple(tuple) if !tuple.elems.iter().any(|part| matches!(part, syn::Pat::Rest(_))) => {
                PatternKind::Tuple(tuple.elems.into_iter().map(|part| self.pattern(part)).collect())
            }
            syn::Pat::Paren(paren) => return self.pattern(*paren.pat),
            syn::Pat::Wild(_) => PatternKind::Wildcard,
            other => {
                let instead = "bind a name, `x`, or names, `(a, b)`";
                self.foreign(&other, "this pattern", instead);
                // The names that the pattern binds are declared, so that their uses are not reported again.
                let name = |ident| PatternKind::Name { ident, mutable: None, binding: None };
                let parts = names(&other).into_iter().map(|ident| Pattern { kind: name(ident), at });
                PatternKind::Invalid(parts.collect())
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
                syn::Stmt::Expr(expr, None) if i == last => tail = Some(Box::new(self.statement(expr))),
                syn::Stmt::Expr(expr, semicolon) => {
                    let value = self.statement(expr);
                    statements.push(Statement::Expr { value, semicolon: semicolon.is_some() });
                }
                syn::Stmt::Item(syn::Item::Const(constant)) => {
                    statements.push(Statement::Const(self.constant(constant, self.unit)));
                }
                syn::Stmt::Item(syn::Item::Use(import)) => {
                    let instead = "import at the beginning of the network";
                    self.foreign(&import, "importing in an inner block", instead);
                    self.has_unknown_imports = true;
                }
                syn::Stmt::Item(syn::Item::Verbatim(tokens)) if self.run_time_size(&tokens).is_some() => {
                    let instead = "declare it in a module of networks, which gets `cost::with(cost::Sizes { .. })` for its `cost`";
                    self.foreign(&tokens, "a size that is known at run time inside of a network", instead);
                }
                syn::Stmt::Item(item) => {
                    let instead = "bind a sub-network with `let f = |x| ..`, or write a `fn` of the module";
                    self.foreign(&item, "an item in a body", instead);
                    // An item is visible before its declaration.
                    statements.splice(0..0, item_name(&item).map(Statement::unknown));
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
        // A last statement such as `return x;` takes the place of the value.
        if tail.is_none()
            && let Some(Statement::Expr { value: Expr { kind: ExprKind::Invalid, at }, .. }) =
                statements.last()
        {
            tail = Some(Box::new(Expr { kind: ExprKind::Invalid, at: *at }));
        }
        Block { statements, tail, at }
    }

    fn local(&mut self, local: syn::Local) -> Statement {
        let Param { pattern, ty, .. } = self.param(local.pat);
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
        if is_include(call) {
            let (what, instead) = match cfg!(feature = "include") {
                true => (
                    format!("`{INCLUDE}!` here"),
                    "it stands among the items of a module of networks, `#[network] pub mod resnet { include_model!(\"resnet.pdmodel\"); }`, and other networks import what it has, `use crate::resnet::predict;`",
                ),
                false => (
                    format!("`{INCLUDE}!` without the feature `include` of `paddle-rs`"),
                    "add it in `Cargo.toml`: `features = [\"include\"]`",
                ),
            };
            self.lacks_items = true;
            return self.foreign(call, &what, instead);
        }
        let name = call.path.to_token_stream().to_string().replace(' ', "");
        self.error(call, Message::Macro { name });
    }
}

/// The macro whose place models take.
pub(super) const INCLUDE: &str = "include_model";

/// Whether a macro includes a model.
pub(super) fn is_include(call: &syn::Macro) -> bool {
    call.path.segments.last().is_some_and(|last| last.ident == INCLUDE)
}

/// The name of an item that the language does not have.
pub(super) fn item_name(item: &syn::Item) -> Option<Ident> {
    match item {
        syn::Item::Fn(item) => Some(item.sig.ident.clone()),
        syn::Item::Static(item) => Some(item.ident.clone()),
        syn::Item::Struct(item) => Some(item.ident.clone()),
        syn::Item::Enum(item) => Some(item.ident.clone()),
        syn::Item::Type(item) => Some(item.ident.clone()),
        _ => None,
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
