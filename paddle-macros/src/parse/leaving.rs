//! `break` and `continue`: a flag says that a row has left the loop, or the iteration, and what comes behind is for the others.
//!
//! ```text
//! while c { a; if d { break; } b; }
//! ```
//!
//! becomes
//!
//! ```text
//! { let mut left = false; while c && !left { a; if d { left = true; } if !left { b; } } }
//! ```

use paddle_core::ops::{LogicalKind, Number};
use proc_macro2::{Ident, Span};
use quote::{ToTokens, quote};

use super::{Leaves, Parser};
use crate::ast::{
    Block, Expr, ExprKind, Infix, Meaning, Pattern, PatternKind, Statement, Target, TargetKind, text,
};
use crate::messages::Message;
use crate::report::Extent;

/// The flags are variables whose names nobody writes.
const LEFT: &str = "__left_the_loop";
const SKIPS: &str = "__skips_the_rest";

impl Parser<'_> {
    /// The body of a loop, with what leaves it.
    pub(super) fn loop_body(&mut self, body: syn::Block) -> (Block, Leaves) {
        let outer = self.innermost.replace(Leaves::default());
        let mut body = self.block(body);
        let leaves = std::mem::replace(&mut self.innermost, outer).unwrap_or_default();
        let Some(span) = leaves.breaks.or(leaves.continues) else { return (body, leaves) };
        let mut is_wrong = false;
        if let Some(tail) = body.tail.as_mut().filter(|tail| !tail.is_statement()) {
            let what = "collecting values of a loop that rows leave by `break` or `continue`";
            let instead = "put what ends the loop into its condition, or assign the value to a variable, and end the \
                           statement with `;`";
            self.sink.error(tail.at, Message::NotSupported { what: what.into(), instead: instead.into() });
            tail.kind = ExprKind::Invalid;
            is_wrong = true;
        }
        let mut body = guard(body, &leaves, span);
        if let Some(span) = leaves.continues {
            body.statements.insert(0, declaration(SKIPS, span));
        }
        (body, Leaves { is_wrong, ..leaves })
    }

    /// `break` or `continue`: sets the flag.
    pub(super) fn leave(
        &mut self,
        at: &impl ToTokens,
        word: Span,
        is_break: bool,
        is_plain: bool,
    ) -> ExprKind {
        let name = if is_break { "`break`" } else { "`continue`" };
        if !is_plain {
            self.not_supported(at, &format!("{name} with a label or a value"), "leave the loops one by one");
            return ExprKind::Invalid;
        }
        let Some(leaves) = &mut self.innermost else {
            self.foreign(
                at,
                &format!("{name} outside of a loop"),
                "it ends an iteration of `while` or `for`",
            );
            return ExprKind::Invalid;
        };
        let flag = match is_break {
            true => &mut leaves.breaks,
            false => &mut leaves.continues,
        };
        flag.get_or_insert(word);
        let target = Target {
            kind: TargetKind::Name {
                ident: flag_name(if is_break { LEFT } else { SKIPS }, word),
                binding: None,
            },
            at: Extent::of(at),
        };
        ExprKind::Assign { target, op: quote!(=), value: Box::new(truth(true, word)) }
    }
}

/// A loop that rows may leave: the flag is declared in front of it.
pub(super) fn left(repeat: ExprKind, leaves: &Leaves, at: Extent) -> ExprKind {
    if leaves.breaks.or(leaves.continues).is_none() {
        return repeat;
    }
    let repeat = Statement::Expr { value: Expr { kind: repeat, at }, semicolon: true };
    let declared = leaves.breaks.map(|span| declaration(LEFT, span));
    // A value that cannot be collected has been reported.
    let tail = leaves.is_wrong.then(|| Box::new(Expr { kind: ExprKind::Invalid, at }));
    ExprKind::Block(Block { statements: declared.into_iter().chain([repeat]).collect(), tail, at })
}

/// The condition of a loop, for those rows that have not left it.
pub(super) fn staying(condition: Box<Expr>, leaves: &Leaves) -> Box<Expr> {
    let Some(span) = leaves.breaks else { return condition };
    let at = condition.at;
    let y = Box::new(not_set(LEFT, span));
    Box::new(Expr {
        kind: ExprKind::Binary { kind: Infix::Logical(LogicalKind::And), op: quote!(&&), x: condition, y },
        at,
    })
}

/// The body of a loop over items, for those rows that have not left it.
pub(super) fn for_those_that_stay(body: Block, leaves: &Leaves) -> Block {
    let Some(span) = leaves.breaks else { return body };
    let at = body.at;
    let value = Expr { kind: choice(not_set(LEFT, span), body, span), at };
    Block { statements: vec![Statement::Expr { value, semicolon: true }], tail: None, at }
}

fn flag_name(name: &str, span: Span) -> Ident {
    Ident::new(name, Span::mixed_site().located_at(span))
}

fn truth(value: bool, span: Span) -> Expr {
    let literal = if value { quote!(true) } else { quote!(false) };
    Expr { kind: ExprKind::Number { value: Number::Bool(value), dtype: None, literal }, at: span.into() }
}

/// `let mut flag = false;`
fn declaration(name: &str, span: Span) -> Statement {
    let kind = PatternKind::Name { ident: flag_name(name, span), mutable: Some(span), binding: None };
    let pattern = Pattern { kind, at: span.into() };
    Statement::Let { span, pattern, ty: None, value: Some(truth(false, span)) }
}

/// `!flag`
fn not_set(name: &str, span: Span) -> Expr {
    let kind = ExprKind::Name { ident: flag_name(name, span), meaning: Meaning::Unresolved };
    let x = Box::new(Expr { kind, at: span.into() });
    Expr { kind: ExprKind::Not { op: span, x }, at: span.into() }
}

/// `if condition { yes }`
fn choice(condition: Expr, yes: Block, span: Span) -> ExprKind {
    ExprKind::If { span, condition: Box::new(condition), yes, no: None }
}

/// The block, in which what stands behind a `break` or `continue` is for those that have not left.
fn guard(block: Block, leaves: &Leaves, span: Span) -> Block {
    let Block { statements, tail, at } = block;
    let mut statements = statements.into_iter();
    let mut before = Vec::new();
    let leaving = statements.by_ref().find_map(|statement| match statement {
        Statement::Expr { value, semicolon } if leaves_in(&value) => Some((value, semicolon)),
        other => {
            before.push(other);
            None
        }
    });
    let Some((value, semicolon)) = leaving else {
        let tail = tail.map(|tail| Box::new(guard_expr(*tail, leaves, span)));
        return Block { statements: before, tail, at };
    };
    before.push(Statement::Expr { value: guard_expr(value, leaves, span), semicolon });
    let rest = Block { statements: statements.collect(), tail, at };
    if !rest.statements.is_empty() || rest.tail.is_some() {
        let mut rest = guard(rest, leaves, span);
        for (flag, span) in [(SKIPS, leaves.continues), (LEFT, leaves.breaks)] {
            let Some(span) = span else { continue };
            let value = Expr { kind: choice(not_set(flag, span), rest, span), at };
            rest = Block { statements: vec![Statement::Expr { value, semicolon: true }], tail: None, at };
        }
        before.extend(rest.statements);
    }
    Block { statements: before, tail: None, at }
}

fn guard_expr(expr: Expr, leaves: &Leaves, span: Span) -> Expr {
    if !leaves_in(&expr) {
        return expr;
    }
    let Expr { kind, at } = expr;
    let kind = match kind {
        ExprKind::If { span: word, condition, yes, no } => ExprKind::If {
            span: word,
            condition,
            yes: guard(yes, leaves, span),
            no: no.map(|(word, no)| (word, Box::new(guard_expr(*no, leaves, span)))),
        },
        ExprKind::Block(block) => ExprKind::Block(guard(block, leaves, span)),
        other => other,
    };
    Expr { kind, at }
}

/// Whether an expression leaves the loop around it.
fn leaves_in(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Assign { target: Target { kind: TargetKind::Name { ident, .. }, .. }, .. } => {
            [LEFT, SKIPS].contains(&text(ident).as_str())
        }
        ExprKind::While { .. } | ExprKind::For { .. } | ExprKind::Closure(_) => false,
        _ => expr.parts().into_iter().any(leaves_in),
    }
}
