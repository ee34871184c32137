//! The parser: tokens → tree. Anything outside of the language is reported at its tokens and left out; parsing goes on.

mod attributes;
mod break_continue;
mod expr;
#[cfg(feature = "include")]
mod include;
mod indexing;
mod item;
mod literals;
mod operator;
mod outside_sizes;
pub mod repair;
mod static_control;
mod std_constants;
mod types;
mod unit;
mod uses;

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;

use crate::ast::{Network, UnitId};
use crate::configure::{self, ConfiguredOut};
use crate::files::Files;
use crate::import::{Payload, Use};
use crate::messages::Message;
use crate::report::{Extent, Sink};

/// The source of an invocation: one network as an expression, or a module of networks.
#[derive(Debug)]
pub struct Source {
    pub network: Network,
    pub form: Form,
}

#[derive(Debug)]
pub enum Form {
    /// `network!(|x| ..)`. The function is the only topology.
    Expression,
    /// `pub mod name { .. }`
    Module { head: TokenStream },
}

pub use operator::with_empty_body;
pub use unit::Syntax;

/// A question about an invocation that only its caller can answer.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'a> {
    /// Whether a predicate holds.
    Predicate(&'a TokenStream),
    /// The source of an import.
    Import(&'a Use),
}

/// An invocation and its imports.
pub struct Invocation {
    syntax: Syntax,
    /// The predicates, which are asked before the imports.
    predicates: Vec<TokenStream>,
    pub uses: Vec<Use>,
    configured_out: Vec<ConfiguredOut>,
    /// Whether an import was left out because it cannot be read.
    has_unknown_imports: bool,
}

impl Invocation {
    /// Reads an invocation of either form. `None` if the tokens are not valid Rust.
    ///
    /// `answers` say whether its predicates hold. A predicate without an answer is taken to hold.
    pub fn read(
        tokens: TokenStream,
        answers: impl FnOnce(&[TokenStream]) -> Vec<bool>,
        sink: &mut Sink,
    ) -> Option<Self> {
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
        // The other steps go through the tokens by recursion, so this check comes first.
        if let Some(at) = too_deep(tokens.clone(), 0) {
            let text = "this expression is too long, or nests too deep; split it with `let`".to_string();
            sink.error(at, Message::Limit { text });
            return None;
        }
        let tokens = literals::shortened(tokens, sink);
        let has_predicates = configure::may_ask(tokens.clone());
        let mut parser = Parser {
            sink,
            unit: UnitId(0),
            has_unknown_imports: false,
            lacks_items: false,
            innermost: None,
            generic_types: Vec::new(),
            generic_constants: Vec::new(),
        };
        let syntax = if is_module {
            parser.read(tokens).map(|item| parser.module(item))
        } else {
            parser.read(tokens).map(|expr| parser.expression(expr))
        };
        match syntax {
            Some(syntax) => {
                let mut syntax = syntax?;
                let (mut predicates, mut configured_out) = (Vec::new(), Vec::new());
                if has_predicates {
                    predicates = configure::predicates(&syntax);
                    let answers = answers(&predicates).into_iter();
                    configured_out = configure::configure(&mut syntax, &predicates, answers);
                }
                let uses = parser.uses(&mut syntax);
                let has_unknown_imports = parser.has_unknown_imports;
                Some(Invocation { syntax, predicates, uses, configured_out, has_unknown_imports })
            }
            None => None,
        }
    }

    /// The next question, given the number of questions that have been answered. Predicates are asked first, in order,
    /// then imports.
    pub fn asks(&self, known: usize) -> Option<Asked<'_>> {
        match (self.predicates.get(known), known.checked_sub(self.predicates.len())) {
            (Some(predicate), _) => Some(Asked::Predicate(predicate)),
            (None, at) => self.uses.get(at?).map(Asked::Import),
        }
    }

    /// The number of predicates.
    pub fn count_of_predicates(&self) -> usize {
        self.predicates.len()
    }

    /// Whether the invocation is an expression.
    pub fn is_expression(&self) -> bool {
        matches!(self.syntax, Syntax::Expression(_))
    }

    /// The tokens before the braces of a module.
    pub fn head(&self) -> Option<&TokenStream> {
        match &self.syntax {
            Syntax::Module { head, .. } => Some(head),
            Syntax::Expression(_) => None,
        }
    }

    /// The tree of the invocation. `payloads` are the sources of its imports, in order.
    pub fn parse(self, payloads: Vec<Payload>, files: Files, sink: &mut Sink) -> Source {
        let has_unknown_imports = self.has_unknown_imports;
        let mut parser = Parser {
            sink,
            unit: UnitId(0),
            has_unknown_imports,
            lacks_items: false,
            innermost: None,
            generic_types: Vec::new(),
            generic_constants: Vec::new(),
        };
        let mut source = parser.source(self.syntax, &self.uses, payloads, files);
        source.network.configured_out = self.configured_out;
        source
    }
}

/// The deepest nesting of tokens. Each operator of an expression may be a level of its tree, and each pair of
/// parentheses several. Later phases walk the tree by recursion on the compiler's stack, which has room for more than
/// this.
const DEPTH: usize = 1000;

/// The first token that is nested deeper than [`DEPTH`], counted from the start of a statement or an argument.
fn too_deep(tokens: TokenStream, outer: usize) -> Option<Span> {
    let mut depth = outer;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        // A prefix operator takes more stack than a binary one.
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
    /// The unit that is being parsed.
    unit: UnitId,
    has_unknown_imports: bool,
    /// Whether a model that was to be included could not be, so that its items are missing.
    lacks_items: bool,
    /// The `break` and `continue` of the loop that is being parsed.
    innermost: Option<Leaves>,
    /// The type parameters of the present `fn`, which have been reported.
    generic_types: Vec<Ident>,
    /// The const parameters of the present `fn` that have been reported.
    generic_constants: Vec<Ident>,
}

/// The first `break` and the first `continue` of a loop.
#[derive(Clone, Copy, Default)]
struct Leaves {
    breaks: Option<Span>,
    continues: Option<Span>,
    /// Whether the loop collects the values of its iterations.
    collects: bool,
}

impl Parser<'_> {
    /// Parses tokens as `T`, and reports syntax errors at their tokens. After an error the tokens are repaired if
    /// possible, so that editors see the rest.
    fn read<T: syn::parse::Parse>(&mut self, tokens: TokenStream) -> Option<T> {
        match syn::parse2(tokens.clone()) {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                self.syntax(&error, &tokens);
                self.sink.close();
                repair::repaired(tokens)
            }
        }
    }

    /// Reports an error of the Rust parser, with what the user may have meant by `tokens`.
    fn syntax(&mut self, error: &syn::Error, tokens: &TokenStream) {
        for error in error.clone() {
            let text = repair::text(tokens, error.span(), &error.to_string());
            self.sink.error(error.span(), Message::Syntax { text });
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
