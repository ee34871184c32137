//! `if`: per row if its condition has rows, otherwise on a scalar. The results of the two blocks are the value of the
//! `if` and the variables that a branch assigns.

use std::collections::BTreeSet;

use paddle_core::ops::{Fill, If, Number};
use paddle_core::program::{BlockId, DType, Dim, RowsId, Type, VarId};
use proc_macro2::Span;

use super::Lowering;
use super::assigned::{Shape, assigned, assigned_in_block};
use super::expr::Operand;
use crate::ast::{BindingId, Block, Expr};
use crate::messages::Message;
use crate::report::Extent;
use crate::values::{Constant, Env, Slot, Value};

/// The value of one branch, and the expression that it comes from.
struct Side<'a> {
    value: Value<'a>,
    at: Extent,
}

/// The results that have been collected for both blocks.
struct Join {
    blocks: [BlockId; 2],
    /// The dimensions of a per-row condition. A result that is a number in both branches gets them.
    per_row: Option<Vec<Dim>>,
    results: [Vec<VarId>; 2],
}

impl<'a> Lowering<'a, '_> {
    pub(super) fn branch(
        &mut self,
        span: Span,
        condition: &'a Expr,
        yes: &'a Block,
        no: Option<&'a Expr>,
        at: Extent,
    ) -> Value<'a> {
        let chosen = match self.operand(condition) {
            Some(Operand::Constant(Constant { number: Number::Bool(truth), .. })) => {
                return self.choose(truth, yes, no);
            }
            chosen => chosen.and_then(|chosen| self.condition(condition, chosen)),
        };
        let in_yes = assigned_in_block(yes, &self.env);
        let in_no = no.map(|no| assigned(no, &self.env)).unwrap_or_default();
        let Some(chosen) = chosen else { return self.without_condition(yes, no, &in_yes, &in_no) };

        let (outer, block) = (self.env.clone(), self.block);
        let blocks = match self.program.create_branches(block, chosen) {
            Ok(blocks) => blocks,
            Err(error) => {
                self.build_error(error, span.into(), &[]);
                self.forget(in_yes.union(&in_no).copied());
                return Value::Unknown;
            }
        };
        let ty = self.program.ty(chosen);
        let per_row = ty.rows.map(|_| ty.dims.clone());
        self.block = blocks[0];
        let yes_value = self.block(yes);
        let yes_env = std::mem::replace(&mut self.env, outer.clone());
        self.block = blocks[1];
        let no_value = no.map_or(Value::unit(), |no| self.expr(no));
        let no_env = std::mem::replace(&mut self.env, outer);

        let yes_at = yes.tail.as_ref().map_or(yes.at, |tail| tail.at);
        let mut join = Join { blocks, per_row, results: [Vec::new(), Vec::new()] };
        let value = if no.is_none() && !yes_value.is_unit() {
            if !yes_value.is_unknown() {
                self.block = block;
                self.error(yes_at, Message::NoElse {});
            }
            None
        } else {
            let yes = Side { value: yes_value, at: yes_at };
            let no = Side { value: no_value, at: no.map_or(at, tail) };
            self.join("this `if`", yes, no, &mut join)
        };
        let mut variables = Vec::new();
        for &id in in_yes.union(&in_no) {
            let sides = self.sides(id, &yes_env, &no_env, in_yes.contains(&id), in_no.contains(&id));
            let Some((yes, no)) = sides else { continue };
            let at = if in_yes.contains(&id) { yes.at } else { no.at };
            let name = self.network.bindings[id.0].name.clone();
            let shape = self.join(&format!("`{name}`"), yes, no, &mut join);
            variables.push((id, name, shape, at));
        }
        self.block = block;
        let complete = value.is_some() && variables.iter().all(|(_, _, shape, _)| shape.is_some());
        let outputs = if complete { self.append_if(span, chosen, &join) } else { Vec::new() };
        for (id, name, shape, at) in variables {
            let value = shape.map_or(Value::Unknown, |shape| shape.value(&outputs));
            if let Value::Var(var) = value {
                self.rename(var, &name);
            }
            self.env.insert(id, Slot { value, at });
        }
        value.map_or(Value::Unknown, |shape| shape.value(&outputs))
    }

    fn append_if(&mut self, span: Span, condition: VarId, join: &Join) -> Vec<VarId> {
        let site = self.site(span);
        let set = (0..2).try_for_each(|i| self.program.set_results(join.blocks[i], &join.results[i]));
        let appended =
            set.and_then(|()| self.program.append_block_op(self.block, If, &[condition], &join.blocks, site));
        self.note_checks(span.into());
        appended.unwrap_or_else(|error| {
            self.build_error(error, span.into(), &[]);
            Vec::new()
        })
    }

    /// Lowers the condition of an `if` to a truth value per row, or to a single one.
    fn condition(&mut self, condition: &'a Expr, chosen: Operand) -> Option<VarId> {
        let found = match chosen {
            Operand::Var(var) => {
                let ty = self.program.ty(var);
                let one = ty.dims.iter().all(|dim| dim.constant() == Some(1));
                if ty.dtype == DType::Bool && one && (ty.rows.is_none() || ty.dims.len() <= 1) {
                    return Some(var);
                }
                format!("{} is {}", condition.words(), self.show(ty))
            }
            Operand::Size(size) => {
                self.undecided(&size, condition.at);
                return None;
            }
            Operand::Constant(constant) => format!("`{}` is {}", constant.number, constant.own_dtype()),
        };
        self.error(condition.at, Message::Condition { found });
        None
    }

    /// Lowers the branches only to find their mistakes, because the condition has one. The results become unknown.
    fn without_condition(
        &mut self,
        yes: &'a Block,
        no: Option<&'a Expr>,
        in_yes: &BTreeSet<BindingId>,
        in_no: &BTreeSet<BindingId>,
    ) -> Value<'a> {
        let outer = self.env.clone();
        let value = self.block(yes);
        self.env = outer.clone();
        if let Some(no) = no {
            self.expr(no);
        }
        self.env = outer;
        self.forget(in_yes.union(in_no).copied());
        if value.is_unit() { value } else { Value::Unknown }
    }

    /// Makes the values of these variables unknown.
    pub(super) fn forget(&mut self, variables: impl IntoIterator<Item = BindingId>) {
        for id in variables {
            if let Some(slot) = self.env.get_mut(&id) {
                slot.value = Value::Unknown;
            }
        }
    }

    /// The values of a variable after each branch. If one branch leaves it alone, messages blame the other branch.
    fn sides(
        &self,
        id: BindingId,
        yes: &Env<'a>,
        no: &Env<'a>,
        in_yes: bool,
        in_no: bool,
    ) -> Option<(Side<'a>, Side<'a>)> {
        let (yes, no) = (yes.get(&id)?, no.get(&id)?);
        let at = [if in_yes { yes.at } else { no.at }, if in_no { no.at } else { yes.at }];
        Some((Side { value: yes.value.clone(), at: at[0] }, Side { value: no.value.clone(), at: at[1] }))
    }

    /// Joins the values of both branches into results. `None` if a mistake has been reported.
    fn join(&mut self, what: &str, yes: Side<'a>, no: Side<'a>, join: &mut Join) -> Option<Shape> {
        match (&yes.value, &no.value) {
            (Value::Unknown, _) | (_, Value::Unknown) => None,
            (Value::Unassigned, _) | (_, Value::Unassigned) => Some(Shape::Unassigned),
            (Value::Tuple(a), Value::Tuple(b)) | (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                let mut parts = Vec::with_capacity(a.len());
                for (a, b) in a.iter().zip(b) {
                    let yes = Side { value: a.clone(), at: yes.at };
                    let no = Side { value: b.clone(), at: no.at };
                    parts.push(self.join(what, yes, no, join)?);
                }
                Some(match yes.value {
                    Value::Array(_) => Shape::Array(parts),
                    _ => Shape::Tuple(parts),
                })
            }
            (Value::Nothing, Value::Nothing) => Some(Shape::Nothing),
            (Value::Nothing, Value::Tuple(_) | Value::Array(_)) => {
                let nothing = Side { value: no.value.nothing(), at: yes.at };
                self.join(what, nothing, no, join)
            }
            (Value::Tuple(_) | Value::Array(_), Value::Nothing) => {
                let nothing = Side { value: yes.value.nothing(), at: no.at };
                self.join(what, yes, nothing, join)
            }
            (
                Value::Var(_) | Value::Constant(_) | Value::Nothing,
                Value::Var(_) | Value::Constant(_) | Value::Nothing,
            ) => {
                let results = self.results(what, [&yes, &no], join)?;
                join.results[0].push(results[0]);
                join.results[1].push(results[1]);
                Some(Shape::Leaf(join.results[0].len() - 1))
            }
            _ => {
                let (yes_type, no_type) = (self.describe(&yes.value), self.describe(&no.value));
                let message = Message::BranchChange { what: what.into(), yes: yes_type, no: no_type };
                self.error(no.at, message);
                None
            }
        }
    }

    fn results(&mut self, what: &str, sides: [&Side<'a>; 2], join: &Join) -> Option<[VarId; 2]> {
        let mut found: [Option<(VarId, Type)>; 2] = [None, None];
        for i in 0..2 {
            let Value::Var(var) = sides[i].value else { continue };
            self.block = join.blocks[i];
            let var = self.localize(var, sides[i].at.start)?;
            let ty = self.program.ty(var).clone();
            let own = self.program.block(join.blocks[i]).rows;
            let goes_out =
                ty.rows.zip(own).is_some_and(|(of, own)| self.program.outside_of(of, own).is_some());
            if join.per_row.is_some() && !goes_out {
                let (what, found) = (what.to_string(), self.show(&ty));
                let message = match (ty.rows, own) {
                    (Some(other), Some(own)) => {
                        let names =
                            [other, own].map(|rows| self.program.show_rows(self.program.drawn_from(rows)));
                        let [other, own] = names;
                        let text = format!(
                            "{what} is {found}, which has {other}, but {own} split here; give each of these its value"
                        );
                        Message::RowSpaces { text }
                    }
                    _ => Message::OneValue { what, found },
                };
                self.error(sides[i].at, message);
                return None;
            }
            found[i] = Some((var, ty));
        }
        let rows = |this: &Self, i: usize, other: Option<RowsId>| match join.per_row {
            Some(_) => this.program.block(join.blocks[i]).rows,
            None => other,
        };
        let change = |this: &mut Self| {
            let (yes, no) = (this.describe(&sides[0].value), this.describe(&sides[1].value));
            this.error(sides[1].at, Message::BranchChange { what: what.into(), yes, no });
            None
        };
        let model = match (&found[0], &found[1]) {
            (Some((a, yes)), Some((b, no))) => {
                let outside = |i: usize, ty: &Type| {
                    self.program.outside_of(ty.rows?, self.program.block(join.blocks[i]).rows?)
                };
                let same_rows = match join.per_row {
                    Some(_) => outside(0, yes) == outside(1, no),
                    None => yes.rows == no.rows,
                };
                if yes.dtype == no.dtype && self.may_be_equal(&yes.dims, &no.dims) && same_rows {
                    return Some([*a, *b]);
                }
                return change(self);
            }
            (Some((_, ty)), None) | (None, Some((_, ty))) => ty.clone(),
            (None, None) => {
                let dtypes = sides.map(|side| match side.value {
                    Value::Constant(constant) => Some(constant.own_dtype()),
                    _ => None,
                });
                let float = dtypes.into_iter().flatten().find(|dtype| dtype.is_float());
                let dtype = float.or(dtypes[1]).or(dtypes[0]).unwrap_or(DType::F32);
                let dims = join.per_row.clone().unwrap_or_default();
                Type { dtype, rows: None, dims }
            }
        };
        // A number is expanded to the rows of its branch.
        let mut vars = found.map(|found| found.map(|(var, _)| var));
        for i in 0..2 {
            let ty = Type { rows: rows(self, i, model.rows), ..model.clone() };
            let number = match sides[i].value {
                Value::Constant(constant) => constant.adapt(ty.dtype),
                Value::Nothing => Some(Fill::zeros(ty.clone()).value),
                _ => continue,
            };
            let Some(number) = number else { return change(self) };
            self.block = join.blocks[i];
            vars[i] = Some(self.fill(number, ty, sides[i].at)?);
        }
        Some([vars[0]?, vars[1]?])
    }

    /// A value in the user's words.
    pub(super) fn describe(&self, value: &Value<'a>) -> String {
        match value {
            Value::Var(var) => self.show(self.program.ty(*var)),
            Value::Constant(constant) => format!("the {} `{}`", constant.own_dtype(), constant.number),
            Value::Size(size) => format!("the size `{}`", self.program.show_dim(size)),
            Value::Outside(constant) => {
                format!("the constant `{}`, {}", constant.place.name, self.program.show(&constant.ty))
            }
            Value::Tuple(parts) if parts.is_empty() => "without a value".to_string(),
            Value::Tuple(parts) => format!("a tuple of {}", parts.len()),
            Value::Array(parts) => format!("an array of {}", parts.len()),
            Value::Text(text) => format!("the text \"{text}\""),
            Value::Closure(..) => "a closure".to_string(),
            Value::Activation(layer) => format!("the activation `{}`", layer.name),
            Value::Nothing => "nothing".to_string(),
            Value::Unassigned | Value::Unknown => "unknown".to_string(),
        }
    }

    /// A constant as the user would write it.
    pub(super) fn literal(&self, value: &Value<'a>) -> String {
        match value {
            Value::Constant(constant) => format!("`{}`", constant.number),
            value => self.describe(value),
        }
    }

    /// A type as the user would write it. Rows chosen from the batch still print as `_`.
    pub(super) fn show(&self, ty: &Type) -> String {
        let mut ty = ty.clone();
        ty.rows = ty.rows.map(|rows| self.program.drawn_from(rows));
        self.program.show(&ty)
    }
}

/// The place of the expression that gives a branch its value.
fn tail(expr: &Expr) -> Extent {
    match &expr.kind {
        crate::ast::ExprKind::Block(block) => block.tail.as_ref().map_or(block.at, |tail| tail.at),
        _ => expr.at,
    }
}
