//! Variables from outside that a block assigns, and how their values pass its border.

use std::collections::BTreeSet;

use paddle_core::program::VarId;

use crate::ast::{BindingId, Block, Expr, ExprKind};
use crate::values::{Env, Value};

/// The variables of `env` that the expression assigns, in the order of their declarations.
pub(super) fn assigned(expr: &Expr, env: &Env<'_>) -> BTreeSet<BindingId> {
    assigned_in([expr], env)
}

/// The same, of a block.
pub(super) fn assigned_in_block(block: &Block, env: &Env<'_>) -> BTreeSet<BindingId> {
    assigned_in(block.parts(), env)
}

/// A closure cannot assign what it captures, and the variables of blocks further in are not in `env`.
fn assigned_in<'t>(exprs: impl IntoIterator<Item = &'t Expr>, env: &Env<'_>) -> BTreeSet<BindingId> {
    let mut found = BTreeSet::new();
    let mut left: Vec<&Expr> = exprs.into_iter().collect();
    while let Some(expr) = left.pop() {
        if let ExprKind::Assign { target, .. } | ExprKind::Update { target, .. } = &expr.kind {
            found.extend(target.bindings());
        }
        left.extend(expr.parts());
    }
    found.retain(|id| env.contains_key(id));
    found
}

/// How the values that pass a block's border make up a variable: values one by one, tuples and arrays of them.
pub(super) enum Shape {
    Leaf(usize),
    Tuple(Vec<Shape>),
    Array(Vec<Shape>),
    /// On no way is there a value.
    Nothing,
    /// Not assigned on every way.
    Unassigned,
}

impl Shape {
    /// The variable's value, with the values that take the places of the leaves.
    pub(super) fn value<'a>(&self, vars: &[VarId]) -> Value<'a> {
        match self {
            Shape::Leaf(at) => vars.get(*at).map_or(Value::Unknown, |&var| Value::Var(var)),
            Shape::Tuple(parts) => Value::Tuple(parts.iter().map(|part| part.value(vars)).collect()),
            Shape::Array(parts) => Value::Array(parts.iter().map(|part| part.value(vars)).collect()),
            Shape::Nothing => Value::Nothing,
            Shape::Unassigned => Value::Unassigned,
        }
    }
}
