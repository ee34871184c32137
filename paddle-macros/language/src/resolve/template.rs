//! Templates of parameter names: texts in which `{i}` stands for a constant.

use paddle_core::layers::Kind;

use super::{Entry, Resolver};
use crate::ast::{Expr, ExprKind, Piece, text};
use crate::messages::{Message, did_you_mean};
use crate::parameter_names::{is_path, is_whole_name};

impl Resolver<'_> {
    /// Resolves the argument `param` of a call.
    pub(super) fn parameter_name(&mut self, callee: &str, value: &mut Expr) {
        self.name_of_parameters(callee, value, is_path);
    }

    /// Resolves the whole name of a parameter, which may be one of another system: any text.
    pub(super) fn whole_name(&mut self, callee: &str, value: &mut Expr) {
        self.name_of_parameters(callee, value, is_whole_name);
    }

    fn name_of_parameters(&mut self, callee: &str, value: &mut Expr, is_name: fn(&str) -> bool) {
        match &mut value.kind {
            ExprKind::Text { value: name, literal } => match self.pieces(name) {
                Ok(pieces) => {
                    let fixed = match &pieces[..] {
                        [] => Some(""),
                        [Piece::Text(name)] => Some(name.as_str()),
                        _ => None,
                    };
                    if let Some(name) = fixed.filter(|name| !is_name(name)) {
                        let message = Message::ParameterName { found: name.to_string() };
                        return self.refuse(value, message);
                    }
                    value.kind = ExprKind::Template { pieces, literal: literal.clone() };
                }
                Err(message) => self.refuse(value, message),
            },
            ExprKind::Name { ident, .. }
                if self.find(&text(ident)).is_none() && !self.items.may_have_others() =>
            {
                let name = text(ident);
                let hint = match did_you_mean(&name, self.names_in_scope()) {
                    none if none.is_empty() => format!("; a name for parameters is in quotes: `\"{name}\"`"),
                    hint => hint,
                };
                self.refuse(value, Message::UnknownVariable { name, hint });
            }
            ExprKind::Name { .. } | ExprKind::Index { .. } => self.expr(value),
            ExprKind::Invalid => {}
            _ => {
                let message = Message::ArgumentKind {
                    callee: callee.into(),
                    name: "param".into(),
                    expected: Kind::Name.describe().into(),
                    found: match value.kind {
                        ExprKind::Number { .. } => value.words(),
                        ExprKind::Array(ref names) if names.is_empty() => "an empty list".into(),
                        ExprKind::Array(_) => "a list, which names the parameters of one layer".into(),
                        _ => "computed; write it out, or give it by a `const`".into(),
                    },
                };
                self.refuse(value, message);
            }
        }
    }

    /// Splits a text at its `{name}`s. `{{` and `}}` stand for braces.
    fn pieces(&mut self, text: &str) -> Result<Vec<Piece>, Message> {
        let wrong = |why: &str| Message::Template { found: text.to_string(), why: why.to_string() };
        let (mut pieces, mut plain) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some(brace) = rest.find(['{', '}']) {
            plain.push_str(&rest[..brace]);
            let (this, behind) = rest[brace..].split_at(1);
            if let Some(behind) = behind.strip_prefix(this) {
                plain.push_str(this);
                rest = behind;
                continue;
            }
            let (name, behind) = match behind.split_once('}') {
                Some(split) if this == "{" => split,
                _ => return Err(wrong("a brace has no other one")),
            };
            if syn::parse_str::<syn::Ident>(name).is_err() {
                return Err(wrong(&format!("`{{{name}}}` is not the name of a constant in braces")));
            }
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            match self.find(name) {
                Some((
                    Entry::Variable(id) | Entry::Constant(id) | Entry::Keyword(id) | Entry::Unknown(id),
                    _,
                )) => {
                    self.bindings[id.0].read = true;
                    pieces.push(Piece::Variable(id));
                }
                Some((Entry::Closure(..), _)) => return Err(wrong(&format!("`{name}` is a closure"))),
                None => {
                    let hint = did_you_mean(name, self.names_in_scope());
                    return Err(Message::UnknownVariable { name: name.into(), hint });
                }
            }
            rest = behind;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(pieces)
    }
}
