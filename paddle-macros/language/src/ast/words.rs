//! The words that messages use for an expression.

use super::{Call, Expr, ExprKind, text};

impl Call {
    /// The arguments as text, shortened.
    pub fn argument_words(&self) -> String {
        let brief = |value: &Expr| value.brief().unwrap_or_else(|| "..".to_string());
        let named =
            self.named.iter().map(|named| format!("{} = {}", text(&named.ident), brief(&named.value)));
        let words: Vec<String> = self.positional.iter().map(brief).chain(named).collect();
        Some(words.join(", ")).filter(|words| words.len() <= 48).unwrap_or_else(|| "..".to_string())
    }
}

impl Expr {
    /// A short text for messages: the name of a variable, or the source of a small expression.
    pub fn words(&self) -> String {
        match self.brief() {
            Some(text) => format!("`{text}`"),
            None => "this value".to_string(),
        }
    }

    /// The source as text, or `None` if it is too long.
    fn brief(&self) -> Option<String> {
        let text = match &self.kind {
            ExprKind::Number { literal, .. } => literal.to_string(),
            ExprKind::Name { ident, .. } => text(ident),
            ExprKind::Outside(size) => size.name.clone(),
            ExprKind::Negate { x, .. } => format!("-{}", x.brief()?),
            ExprKind::Not { x, .. } => format!("!{}", x.brief()?),
            ExprKind::Binary { op, x, y, .. } => format!("{} {op} {}", x.brief()?, y.brief()?),
            ExprKind::Part { x, at } => format!("{}.{at}", x.brief()?),
            ExprKind::Index { x, index } => format!("{}[{}]", x.brief()?, index.brief()?),
            ExprKind::Method { x, method, .. } => match method.argument() {
                None => format!("{}.{}()", x.brief()?, method.name()),
                Some(other) => format!("{}.{}({})", x.brief()?, method.name(), other.brief()?),
            },
            ExprKind::Paren(x) => format!("({})", x.brief()?),
            ExprKind::Call(call) => {
                let arguments: Option<Vec<String>> = call.positional.iter().map(Expr::brief).collect();
                match arguments {
                    Some(arguments) if call.named.is_empty() => {
                        format!("{}({})", text(&call.ident), arguments.join(", "))
                    }
                    _ => format!("{}(..)", text(&call.ident)),
                }
            }
            _ => return None,
        };
        match (&self.kind, text.len() > 32) {
            (ExprKind::Call(call), true) => Some(format!("{}(..)", self::text(&call.ident))),
            (_, true) => None,
            (_, false) => Some(text),
        }
    }
}
