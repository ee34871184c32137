//! Parts of values, `x[(.., 1..3)]`, and methods, `xs.rev()`.

use super::Parser;
use crate::ast::{ExprKind, Method, Place, PlaceKind};
use crate::messages::Message;
use crate::report::Extent;

/// Methods that have no effect: a `for` iterates over sequences and arrays directly.
const ITERATORS: [&str; 2] = ["iter", "into_iter"];

/// The methods of the language, with the number of their arguments.
const METHODS: [(&str, usize); 4] = [("len", 0), ("enumerate", 0), ("rev", 0), ("zip", 1)];

/// Whether a method call is valid in the language.
pub(super) fn is_method(call: &syn::ExprMethodCall) -> bool {
    let name = call.method.to_string();
    let fits = |arguments: usize| call.turbofish.is_none() && call.args.len() == arguments;
    let is_iterator = ITERATORS.contains(&&*name) && fits(0);
    is_iterator || METHODS.iter().any(|(known, arguments)| *known == name && fits(*arguments))
}

/// The message for a method of the language with the wrong arguments.
pub(super) fn wrong_arguments(call: &syn::ExprMethodCall) -> Option<Message> {
    let name = call.method.to_string();
    let iterators = ITERATORS.iter().map(|name| (*name, 0));
    let (_, takes) = iterators.chain(METHODS).find(|(known, _)| *known == name)?;
    let takes = if takes == 0 { "no arguments" } else { "one argument" };
    let found = match (call.turbofish.is_some(), call.args.len()) {
        (true, _) => "types are given".to_string(),
        (false, 1) => "1 is given".to_string(),
        (false, given) => format!("{given} are given"),
    };
    Some(Message::ArgumentCount { callee: format!(".{name}()"), takes: takes.to_string(), found })
}

impl Parser<'_> {
    /// Parses a valid method call.
    pub(super) fn method(&mut self, call: syn::ExprMethodCall) -> ExprKind {
        let at = Extent { start: call.method.span(), end: call.paren_token.span.close() };
        let x = self.boxed(*call.receiver);
        let other = call.args.into_iter().next().map(|other| self.boxed(other));
        let method = match (&*call.method.to_string(), other) {
            ("len", _) => Method::Length,
            ("enumerate", _) => Method::Numbered,
            ("rev", _) => Method::Reversed,
            ("zip", Some(other)) => Method::Zipped(other),
            _ => return ExprKind::Paren(x),
        };
        ExprKind::Method { x, method, at }
    }

    /// Parses `x[i]`, and with ranges `x[1..3]` and `x[(.., 0)]`.
    pub(super) fn indexed(&mut self, x: syn::Expr, index: syn::Expr) -> ExprKind {
        let x = self.boxed(x);
        let places = match index {
            range @ syn::Expr::Range(_) => vec![self.place(range)],
            syn::Expr::Tuple(tuple) => tuple.elems.into_iter().map(|place| self.place(place)).collect(),
            index => return ExprKind::Index { x, index: self.boxed(index) },
        };
        ExprKind::Cut { x, places }
    }

    fn place(&mut self, place: syn::Expr) -> Place {
        let at = Extent::of(&place);
        let kind = match place {
            syn::Expr::Range(syn::ExprRange { start: None, end: None, .. }) => PlaceKind::All,
            syn::Expr::Range(range) => PlaceKind::Range {
                inclusive: matches!(range.limits, syn::RangeLimits::Closed(_)),
                start: range.start.map(|start| self.boxed(*start)),
                end: range.end.map(|end| self.boxed(*end)),
            },
            place => PlaceKind::One(self.expr(place)),
        };
        Place { kind, at }
    }
}
