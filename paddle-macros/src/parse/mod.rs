//! Tokens → tree. What is not of the language is reported at its tokens and left out; parsing goes on.

mod attributes;
mod control;
mod expr;
mod item;
mod leaving;
mod operator;
mod outside;
mod types;
mod unit;
mod uses;

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;

use crate::ast::{Network, UnitId};
use crate::import::{Payload, Use};
use crate::messages::Message;
use crate::report::{Extent, Sink};

/// What was written: one network as an expression, or a module of them.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) network: Network,
    pub(crate) form: Form,
}

#[derive(Debug)]
pub(crate) enum Form {
    /// `network!(|x| ..)`; its function is the only topology.
    Expression,
    /// `pub mod name { .. }`
    Module { head: TokenStream },
}

pub(crate) use unit::Syntax;

/// An invocation and what it imports.
pub(crate) struct Invocation {
    syntax: Syntax,
    pub(crate) uses: Vec<Use>,
    /// Whether an import is left out because it cannot be read.
    has_unknown_imports: bool,
}

impl Invocation {
    /// Takes either form apart. `None` when the tokens are not even Rust.
    pub(crate) fn read(tokens: TokenStream, sink: &mut Sink) -> Option<Self> {
        if tokens.is_empty() {
            let what = "an invocation without a network".to_string();
            let instead = unit::CLOSURE_FORM.to_string();
            sink.error(Span::call_site(), Message::NotOfTheLanguage { what, instead });
            return None;
        }
        let is_module = tokens
            .clone()
            .into_iter()
            .any(|token| matches!(token, TokenTree::Ident(i) if i == "mod"))
            && !matches!(tokens.clone().into_iter().next(), Some(TokenTree::Punct(p)) if p.as_char() == '|');
        if let Some(at) = too_deep(tokens.clone(), 0) {
            let text = "this expression is too long, or nests too deep; split it with `let`".to_string();
            sink.error(at, Message::Limit { text });
            return None;
        }
        let mut parser = Parser {
            sink,
            unit: UnitId(0),
            has_unknown_imports: false,
            innermost: None,
            generic_types: Vec::new(),
        };
        let parsed = if is_module {
            syn::parse2::<syn::ItemMod>(tokens).map(|item| parser.module(item))
        } else {
            syn::parse2::<syn::Expr>(tokens).map(|expr| parser.expression(expr))
        };
        match parsed {
            Ok(syntax) => {
                let mut syntax = syntax?;
                let uses = parser.uses(&mut syntax);
                Some(Invocation { syntax, uses, has_unknown_imports: parser.has_unknown_imports })
            }
            Err(error) => {
                parser.syntax(&error);
                None
            }
        }
    }

    /// What stands before the braces of a module.
    pub(crate) fn head(&self) -> Option<&TokenStream> {
        match &self.syntax {
            Syntax::Module { head, .. } => Some(head),
            Syntax::Expression(_) => None,
        }
    }

    /// The tree, with the sources of what is imported, in order.
    pub(crate) fn parse(self, payloads: Vec<Payload>, sink: &mut Sink) -> Source {
        let has_unknown_imports = self.has_unknown_imports;
        let mut parser =
            Parser { sink, unit: UnitId(0), has_unknown_imports, innermost: None, generic_types: Vec::new() };
        parser.source(self.syntax, &self.uses, payloads)
    }
}

/// Every operator of an expression may be a level of its tree, and every pair of parentheses is several. The tree is
/// walked by recursion on the compiler's stack, which has room for more than this.
const DEPTH: usize = 1000;

/// The first token behind [`DEPTH`], counted from the begin of a statement or an argument.
fn too_deep(tokens: TokenStream, outer: usize) -> Option<Span> {
    let mut depth = outer;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        // What stands before a value takes more room than what stands between two.
        let is_before = matches!(&token, TokenTree::Punct(punct) if "-!*&|?".contains(punct.as_char()));
        depth += if is_before { 2 } else { 1 };
        if depth > DEPTH {
            return Some(token.span());
        }
        match &token {
            TokenTree::Punct(punct) if matches!(punct.as_char(), ',' | ';') => depth = outer,
            TokenTree::Group(group) => {
                if let Some(at) = too_deep(group.stream(), depth + 8) {
                    return Some(at);
                }
                let goes_on = matches!(tokens.peek(), Some(TokenTree::Ident(next)) if next == "else");
                if group.delimiter() == Delimiter::Brace && !goes_on {
                    depth = outer;
                }
            }
            _ => {}
        }
    }
    None
}

struct Parser<'a> {
    sink: &'a mut Sink,
    /// The unit whose items are being parsed.
    unit: UnitId,
    has_unknown_imports: bool,
    /// What leaves the loop whose body is parsed.
    innermost: Option<Leaves>,
    /// The parameters of the present `fn` that stand for types, which have been reported.
    generic_types: Vec<Ident>,
}

/// The first `break` and the first `continue` of a loop.
#[derive(Clone, Copy, Default)]
struct Leaves {
    breaks: Option<Span>,
    continues: Option<Span>,
    /// Whether the loop has a value: what its iterations come to.
    collects: bool,
}

impl Parser<'_> {
    /// Reports a syntax error at its tokens.
    fn syntax(&mut self, error: &syn::Error) {
        for error in error.clone() {
            self.sink.error(error.span(), Message::Syntax { text: error.to_string() });
        }
    }

    fn error(&mut self, at: &impl ToTokens, message: Message) {
        self.sink.error(Extent::of(at), message);
    }

    fn not_supported(&mut self, at: &impl ToTokens, what: &str, instead: &str) {
        self.error(at, Message::NotSupported { what: what.into(), instead: instead.into() });
    }

    fn foreign(&mut self, at: &impl ToTokens, what: &str, instead: &str) {
        self.error(at, Message::NotOfTheLanguage { what: what.into(), instead: instead.into() });
    }
}
