//! Variables from outside that a block assigns, and how their values pass its border.

use std::collections::BTreeSet;

use paddle_core::program::VarId;

use crate::ast::{BindingId, Block, Expr, ExprKind, Statement};
use crate::values::{Env, Value};

/// The variables of `env` that the expression assigns, in the order of their declarations.
pub(super) fn assigned(expr: &Expr, env: &Env<'_>) -> BTreeSet<BindingId> {
    let mut found = BTreeSet::new();
    in_expr(expr, &mut found);
    found.retain(|id| env.contains_key(id));
    found
}

/// The same, of a block.
pub(super) fn assigned_in_block(block: &Block, env: &Env<'_>) -> BTreeSet<BindingId> {
    let mut found = BTreeSet::new();
    in_block(block, &mut found);
    found.retain(|id| env.contains_key(id));
    found
}

fn in_block(block: &Block, found: &mut BTreeSet<BindingId>) {
    for statement in &block.statements {
        match statement {
            Statement::Let { value: Some(value), .. } | Statement::Expr { value, .. } => {
                in_expr(value, found)
            }
            Statement::Let { value: None, .. } | Statement::Const(_) => {}
        }
    }
    if let Some(tail) = &block.tail {
        in_expr(tail, found);
    }
}

fn in_expr(expr: &Expr, found: &mut BTreeSet<BindingId>) {
    match &expr.kind {
        ExprKind::Assign { target, value, .. } | ExprKind::Update { target, value, .. } => {
            found.extend(target.bindings());
            in_expr(value, found);
        }
        ExprKind::If { condition, yes, no, .. } => {
            in_expr(condition, found);
            in_block(yes, found);
            if let Some((_, no)) = no {
                in_expr(no, found);
            }
        }
        ExprKind::While { condition, body, .. } => {
            in_expr(condition, found);
            in_block(body, found);
        }
        ExprKind::Block(block) => in_block(block, found),
        ExprKind::Paren(x) | ExprKind::Negate { x, .. } | ExprKind::Not { x, .. } => in_expr(x, found),
        ExprKind::Binary { x, y, .. } => {
            in_expr(x, found);
            in_expr(y, found);
        }
        ExprKind::Tuple(parts) | ExprKind::Array(parts) => parts.iter().for_each(|part| in_expr(part, found)),
        ExprKind::Call(call) => call.positional.iter().for_each(|argument| in_expr(argument, found)),
        // A closure cannot assign what it captures.
        ExprKind::Closure(_)
        | ExprKind::Number { .. }
        | ExprKind::Text { .. }
        | ExprKind::Name { .. }
        | ExprKind::Invalid => {}
    }
}

/// How the values that pass a block's border make up a variable: values one by one, tuples of them.
pub(super) enum Shape {
    Leaf(usize),
    Tuple(Vec<Shape>),
    /// Not assigned on every way.
    Unassigned,
}

impl Shape {
    /// The variable's value, with the values that take the places of the leaves.
    pub(super) fn value<'a>(&self, vars: &[VarId]) -> Value<'a> {
        match self {
            Shape::Leaf(at) => vars.get(*at).map_or(Value::Unknown, |&var| Value::Var(var)),
            Shape::Tuple(parts) => Value::Tuple(parts.iter().map(|part| part.value(vars)).collect()),
            Shape::Unassigned => Value::Unassigned,
        }
    }
}
