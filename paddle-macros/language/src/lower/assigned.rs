//! Variables of the surrounding block that a block assigns, and the passing of their values into and out of the block.

use std::collections::BTreeSet;

use paddle_core::program::VarId;

use crate::ast::{BindingId, Block, Expr, ExprKind};
use crate::values::{Env, Value};

/// The variables of `env` that the expression assigns, in the order of their declarations.
pub(super) fn assigned(expr: &Expr, env: &Env<'_>) -> BTreeSet<BindingId> {
    assigned_in([expr], env)
}

/// Like [`assigned`], for a block.
pub(super) fn assigned_in_block(block: &Block, env: &Env<'_>) -> BTreeSet<BindingId> {
    assigned_in(block.parts(), env)
}

/// A closure cannot assign what it captures, and variables of inner blocks are not in `env`.
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

/// How the values that pass into or out of a block make up a variable: a leaf is one value; tuples and arrays have
/// parts.
pub(super) enum Shape {
    Leaf(usize),
    Tuple(Vec<Shape>),
    Array(Vec<Shape>),
    /// No branch gives a value.
    Nothing,
    /// Not every branch assigns the variable.
    Unassigned,
}

impl Shape {
    /// The value of this shape whose leaves are `vars`.
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
