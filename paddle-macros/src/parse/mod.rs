//! Tokens → tree. What is not of the language is reported at its tokens and left out; parsing goes on.

mod attributes;
mod control;
mod expr;
mod item;
mod types;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens;

use crate::ast::Network;
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

/// Parses either form. `None` when the tokens are not even Rust.
pub(crate) fn parse(tokens: TokenStream, sink: &mut Sink) -> Option<Source> {
    let is_module =
        tokens.clone().into_iter().any(|token| matches!(token, TokenTree::Ident(i) if i == "mod"))
            && !matches!(tokens.clone().into_iter().next(), Some(TokenTree::Punct(p)) if p.as_char() == '|');
    if let Some(at) = too_deep(tokens.clone(), 0) {
        let text = "this expression is too long, or nests too deep; split it with `let`".to_string();
        sink.error(at, Message::Limit { text });
        return None;
    }
    let mut parser = Parser { sink, innermost: None };
    let parsed = if is_module {
        syn::parse2::<syn::ItemMod>(tokens).map(|item| parser.module(item))
    } else {
        syn::parse2::<syn::Expr>(tokens).map(|expr| parser.network(expr))
    };
    match parsed {
        Ok(source) => source,
        Err(error) => {
            parser.syntax(&error);
            None
        }
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
        depth += 1;
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
    /// The loop whose body is parsed.
    innermost: Option<Loop>,
}

#[derive(Clone, Copy)]
enum Loop {
    For,
    While,
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
