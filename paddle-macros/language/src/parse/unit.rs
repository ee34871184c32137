//! Units: a closure, or the items of a module, of an imported source, or of a library file.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use super::{Form, Parser, Source};
use crate::ast::{Block, Constant, Function, Import, Network, Origin, Unit, UnitId, text};
use crate::files::Files;
use crate::import::{ImportedSource, Payload, Use};
use crate::library;
use crate::messages::Message;
use crate::report::Extent;

pub(super) const CLOSURE_FORM: &str =
    "write `network!(|x: Tensor<f32, _, 13>| { .. })`, or a module of `pub fn`s";

/// An invocation that is valid Rust, split into its parts.
#[derive(Clone)]
pub enum Syntax {
    Expression(syn::ExprClosure),
    Module {
        /// The tokens before the braces.
        head: TokenStream,
        ident: Ident,
        items: Vec<syn::Item>,
    },
}

impl Parser<'_> {
    /// Reads the expression form: a closure whose parameters are the inputs.
    pub(super) fn expression(&mut self, expr: syn::Expr) -> Option<Syntax> {
        match expr {
            syn::Expr::Closure(closure) => Some(Syntax::Expression(closure)),
            other => {
                self.foreign(&other, "a network of this form", CLOSURE_FORM);
                None
            }
        }
    }

    /// Reads the module form.
    pub(super) fn module(&mut self, mut item: syn::ItemMod) -> Option<Syntax> {
        // `//!` and `#![..]` become outer attributes, which stand in front of the emitted module.
        for attribute in &mut item.attrs {
            attribute.style = syn::AttrStyle::Outer;
        }
        let (attrs, vis, ident) = (&item.attrs, &item.vis, &item.ident);
        let head = quote!(#(#attrs)* #vis mod #ident);
        let Some((_, items)) = item.content else {
            self.foreign(ident, "a module in another file", "write its body here: `pub mod .. { .. }`");
            return None;
        };
        Some(Syntax::Module { head, ident: item.ident, items })
    }

    /// The imports of the invocation, in order.
    pub(super) fn uses(&mut self, syntax: &mut Syntax) -> Vec<Use> {
        let mut imports = Vec::new();
        match syntax {
            Syntax::Expression(closure) => {
                if let syn::Expr::Block(body) = &mut *closure.body {
                    for statement in std::mem::take(&mut body.block.stmts) {
                        match statement {
                            syn::Stmt::Item(syn::Item::Use(import)) => imports.push(import),
                            other => body.block.stmts.push(other),
                        }
                    }
                }
            }
            Syntax::Module { items, .. } => {
                for item in std::mem::take(items) {
                    match item {
                        syn::Item::Use(import) => imports.push(import),
                        other => items.push(other),
                    }
                }
            }
        }
        imports.iter().flat_map(|import| self.use_item(import)).collect()
    }

    /// The tree of an invocation with all of its imports.
    pub(super) fn source(
        &mut self,
        syntax: Syntax,
        uses: &[Use],
        payloads: Vec<Payload>,
        files: Files,
    ) -> Source {
        let mut network = Network { files, ..Network::default() };
        #[cfg(feature = "include")]
        let syntax = self.included(syntax, uses, &network.files, &mut network.included);
        let names = uses.iter().map(|import| (import.name.clone(), import.tokens())).collect();
        let imports = self.imports(names, payloads, &mut network);
        match &syntax {
            Syntax::Expression(closure) => self.library(&quote!(#closure), &mut network),
            Syntax::Module { items, .. } => self.library(&quote!(#(#items)*), &mut network),
        }
        let unit = UnitId(network.units.len());
        self.unit = unit;
        network.units.push(Unit { origin: Origin::Here, imports });
        let form = match syntax {
            Syntax::Expression(mut closure) => {
                network.captures = closure.capture.take().map(|token| token.span);
                let function = self.closure(closure);
                network.functions.push(function);
                Form::Expression
            }
            Syntax::Module { head, ident, items } => {
                self.items(items, unit, &mut network);
                let has_topology =
                    network.functions.iter().any(|function| function.unit == unit && function.public);
                if !has_topology && !self.lacks_items {
                    self.sink.error(ident.span(), Message::NoTopology { name: text(&ident) });
                }
                Form::Module { head }
            }
        };
        network.has_unknown_imports = self.has_unknown_imports || self.lacks_items;
        Source { network, form }
    }

    fn closure(&mut self, closure: syn::ExprClosure) -> Function {
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
        Function {
            ident: Ident::new("network", Span::mixed_site()),
            unit: self.unit,
            public: true,
            layer: false,
            operator: None,
            attributes: TokenStream::new(),
            lints: TokenStream::new(),
            visibility: TokenStream::new(),
            generics: Vec::new(),
            params,
            result,
            body,
            tokens: TokenStream::new(),
        }
    }

    fn items(&mut self, items: Vec<syn::Item>, unit: UnitId, network: &mut Network) {
        self.unit = unit;
        for item in items {
            match item {
                syn::Item::Fn(function) => {
                    let function = self.function(function, unit, false);
                    self.add_function(function, network);
                }
                syn::Item::Const(constant) => {
                    let constant = self.constant(constant, unit);
                    self.add_constant(constant, network);
                }
                syn::Item::Verbatim(tokens) => {
                    if let Some(size) = self.run_time_size(&tokens) {
                        self.add_constant(size, network);
                    } else if let Some(operator) = self.without_body(&tokens, unit) {
                        self.add_function(operator, network);
                    } else {
                        self.foreign(&tokens, "this item", "a module of networks has `fn`s and `const`s");
                    }
                }
                syn::Item::Macro(call) => self.foreign_macro(&call.mac),
                other => self.foreign(&other, "this item", "a module of networks has `fn`s and `const`s"),
            }
        }
    }

    fn add_function(&mut self, function: Function, network: &mut Network) {
        let imported = |import: &Import| import.ident == function.ident;
        match declares(network, function.unit, &function.ident)
            || network.units[function.unit.0].imports.iter().any(imported)
        {
            true => self.duplicate(&function.ident),
            false => network.functions.push(function),
        }
    }

    fn add_constant(&mut self, constant: Constant, network: &mut Network) {
        match declares(network, constant.unit, &constant.ident) {
            true => self.duplicate(&constant.ident),
            false => network.constants.push(constant),
        }
    }

    /// Adds the units of imported names.
    fn imports(
        &mut self,
        names: Vec<(Ident, TokenStream)>,
        payloads: Vec<Payload>,
        network: &mut Network,
    ) -> Vec<Import> {
        let mut imports: Vec<Import> = Vec::new();
        for ((ident, tokens), payload) in names.into_iter().zip(payloads) {
            let mut read = |source: ImportedSource| {
                let names = source.names.into_iter().map(|name| (name, TokenStream::new())).collect();
                let inner = self.imports(names, source.imports, network);
                let items = syn::parse2::<syn::File>(source.items).ok()?.items;
                self.library(&quote!(#(#items)*), network);
                let unit = UnitId(network.units.len());
                let origin = Origin::Imported { file: source.file };
                network.units.push(Unit { origin, imports: inner });
                self.items(items, unit, network);
                Some((unit, source.name))
            };
            let item = match payload {
                Payload::Source(source) => read(source),
                Payload::Refused(why) => {
                    self.sink.error(ident.span(), Message::NotImportable { name: text(&ident), why });
                    None
                }
                Payload::Broken => None,
            };
            match imports.iter().any(|other| other.ident == ident) {
                true => self.duplicate(&ident),
                false => imports.push(Import { ident, tokens, item }),
            }
        }
        imports
    }

    /// Adds the library files whose layers these tokens may call.
    fn library(&mut self, tokens: &TokenStream, network: &mut Network) {
        for name in library::named(tokens) {
            let known = |function: &Function| network.is_library(function.unit) && function.ident == name;
            let Some(file) = library::source(name).filter(|_| !network.functions.iter().any(known)) else {
                continue;
            };
            let unit = UnitId(network.units.len());
            network.units.push(Unit { origin: Origin::Library, imports: Vec::new() });
            let items = match syn::parse_str::<syn::File>(file) {
                Ok(file) => file.items,
                Err(error) => return self.syntax(&error, &TokenStream::new()),
            };
            let tokens = quote!(#(#items)*);
            self.items(items, unit, network);
            self.library(&tokens, network);
        }
    }
}

/// Whether the unit has an item of this name.
fn declares(network: &Network, unit: UnitId, ident: &Ident) -> bool {
    let functions = network.functions.iter().map(|function| (function.unit, &function.ident));
    let constants = network.constants.iter().map(|constant| (constant.unit, &constant.ident));
    functions.chain(constants).any(|(other, name)| other == unit && name == ident)
}
