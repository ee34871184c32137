//! `break` and `continue`. A flag records that a row has left the loop, or the iteration, and the statements behind run
//! only for the other rows.
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
//!
//! If the loop collects values, each iteration gives a value and a flag that says whether the row reached the value. A
//! row that left before gives a placeholder instead. The loop keeps only the values that were reached.

use paddle_core::ops::{LogicalKind, Number};
use proc_macro2::{Ident, Span};
use quote::{ToTokens, quote};

use super::{Leaves, Parser};
use crate::ast::{
    Block, Expr, ExprKind, Infix, Meaning, Pattern, PatternKind, Statement, Target, TargetKind, text,
};
use crate::report::Extent;

/// The names of the flags. Users do not write such names.
const LEFT: &str = "__left_the_loop";
const SKIPS: &str = "__skips_the_rest";

impl Parser<'_> {
    /// Parses the body of a loop, and rewrites its `break` and `continue`.
    pub(super) fn loop_body(&mut self, body: syn::Block) -> (Block, Leaves) {
        let outer = self.innermost.replace(Leaves::default());
        let body = self.block(body);
        let leaves = std::mem::replace(&mut self.innermost, outer).unwrap_or_default();
        let Some(span) = leaves.breaks.or(leaves.continues) else { return (body, leaves) };
        let collects = !body.is_statement();
        let leaves = Leaves { collects, ..leaves };
        let mut body = guard(body, &leaves, span, collects);
        if let Some(span) = leaves.continues {
            body.statements.insert(0, declaration(SKIPS, span));
        }
        (body, leaves)
    }

    /// Parses `break` or `continue`, which sets a flag.
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

/// Declares the flag in front of a loop with `break`.
pub(super) fn left(repeat: ExprKind, leaves: &Leaves, at: Extent) -> ExprKind {
    if leaves.breaks.or(leaves.continues).is_none() {
        return repeat;
    }
    let mut statements: Vec<Statement> =
        leaves.breaks.map(|span| declaration(LEFT, span)).into_iter().collect();
    let repeat = Expr { kind: repeat, at };
    let tail = match leaves.collects {
        true => Some(Box::new(Expr { kind: ExprKind::Kept(Box::new(repeat)), at })),
        false => {
            statements.push(Statement::Expr { value: repeat, semicolon: true });
            None
        }
    };
    ExprKind::Block(Block { statements, tail, at })
}

/// The condition of a loop, which is false for rows that have left it.
pub(super) fn staying(condition: Box<Expr>, leaves: &Leaves) -> Box<Expr> {
    let Some(span) = leaves.breaks else { return condition };
    let at = condition.at;
    let y = Box::new(not_set(LEFT, span));
    Box::new(Expr {
        kind: ExprKind::Binary { kind: Infix::Logical(LogicalKind::And), op: quote!(&&), x: condition, y },
        at,
    })
}

/// The body of a loop over items, which is skipped for rows that have left the loop.
pub(super) fn for_those_that_stay(body: Block, leaves: &Leaves) -> Block {
    let Some(span) = leaves.breaks else { return body };
    if_not_set(LEFT, body, leaves.collects, span)
}

/// `if !flag { yes }`. If values are collected, an `else` gives the placeholder.
fn if_not_set(flag: &str, yes: Block, collects: bool, span: Span) -> Block {
    let at = yes.at;
    let no = collects.then(|| (span, Box::new(Expr { kind: ExprKind::Block(nothing(at, span)), at })));
    let condition = Box::new(not_set(flag, span));
    let choice = Expr { kind: ExprKind::If { span, condition, yes, no }, at };
    match collects {
        true => Block { statements: Vec::new(), tail: Some(Box::new(choice)), at },
        false => {
            Block { statements: vec![Statement::Expr { value: choice, semicolon: true }], tail: None, at }
        }
    }
}

/// A collected value: the value itself and the flag `true`.
fn something(value: Expr, span: Span) -> Expr {
    let at = value.at;
    Expr { kind: ExprKind::Tuple(vec![value, truth(true, span)]), at }
}

/// `{ (nothing, false) }`
fn nothing(at: Extent, span: Span) -> Block {
    let nothing = Expr { kind: ExprKind::Nothing, at };
    let pair = Expr { kind: ExprKind::Tuple(vec![nothing, truth(false, span)]), at };
    Block { statements: Vec::new(), tail: Some(Box::new(pair)), at }
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

/// Rewrites a block so that the statements behind a `break` or `continue` run only for rows that have not left. If
/// values are collected, the block's value becomes a pair of the value and its flag.
fn guard(block: Block, leaves: &Leaves, span: Span, collects: bool) -> Block {
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
        let tail = tail.map(|tail| match leaves_in(&tail) {
            true => guard_expr(*tail, leaves, span, collects),
            false if collects => something(*tail, span),
            false => *tail,
        });
        return Block { statements: before, tail: tail.map(Box::new), at };
    };
    before.push(Statement::Expr { value: guard_expr(value, leaves, span, false), semicolon });
    let rest = Block { statements: statements.collect(), tail, at };
    let mut rest = match rest.statements.is_empty() && rest.tail.is_none() {
        true if collects => nothing(at, span),
        true => rest,
        false => {
            let mut rest = guard(rest, leaves, span, collects);
            for (flag, span) in [(SKIPS, leaves.continues), (LEFT, leaves.breaks)] {
                if let Some(span) = span {
                    rest = if_not_set(flag, rest, collects, span);
                }
            }
            rest
        }
    };
    before.append(&mut rest.statements);
    Block { statements: before, tail: rest.tail, at }
}

fn guard_expr(expr: Expr, leaves: &Leaves, span: Span, collects: bool) -> Expr {
    let Expr { kind, at } = expr;
    let kind = match kind {
        ExprKind::If { span: word, condition, yes, no } => ExprKind::If {
            span: word,
            condition,
            yes: guard(yes, leaves, span, collects),
            no: no.map(|(word, no)| (word, Box::new(guard_branch(*no, leaves, span, collects)))),
        },
        ExprKind::Block(block) => ExprKind::Block(guard(block, leaves, span, collects)),
        other => other,
    };
    Expr { kind, at }
}

/// Rewrites an `else` branch: a block, or another `if`. If values are collected, its value has to become a pair in any
/// case.
fn guard_branch(no: Expr, leaves: &Leaves, span: Span, collects: bool) -> Expr {
    if collects || leaves_in(&no) { guard_expr(no, leaves, span, collects) } else { no }
}

/// Whether an expression contains a `break` or `continue` of the surrounding loop.
fn leaves_in(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Assign { target: Target { kind: TargetKind::Name { ident, .. }, .. }, .. } => {
            [LEFT, SKIPS].contains(&text(ident).as_str())
        }
        ExprKind::While { .. } | ExprKind::For { .. } | ExprKind::Closure(_) => false,
        _ => expr.parts().into_iter().any(leaves_in),
    }
}
